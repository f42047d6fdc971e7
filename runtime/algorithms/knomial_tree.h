// The trees of the k-nomial algorithms, of which radix 2 is the binomial one: a set of ranks is cut into k
// runs again and again, and each run without the leader gets one of its own. Pure functions: any thread.
//
//     8 ranks, root 0, radix 2:      0              radix 4:         0
//                                ┌───┼───┐                       ┌──┬┴─┬──┐
//                                4   2   1                       2  4  6  1
//                               ┌┴┐  │                           │  │  │
//                               6 5  3                           3  5  7
//                               │
//                               7
//
// Every subtree is a run of consecutive ranks, whatever the root, so that blocks move as one run and folds
// keep the order of the ranks. With k^m ranks and root 0 it is the k-nomial tree itself.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace rondo {

constexpr int kBinomial = 2;
/// Of the rows named knomial4: half the rounds of a binomial tree, for half as many messages again.
constexpr int kKnomial = 4;

/// A run of ranks and the one that leads it: its first, where the root is elsewhere.
struct Branch {
  int rank = 0;
  int first = 0;
  int count = 1;

  bool holds(int other) const { return other >= first && other < first + count; }
};

/// A set of at least two ranks as `radix` runs (of one rank each, where it has fewer ranks), as even as can
/// be and the longer ones first; the one that holds the set's leader keeps it.
std::vector<Branch> cut_run(const Branch& whole, int radix);

struct TreePlace {
  int rank = 0;
  int parent = -1;               // -1: this is the root
  Branch own;                    // this rank's own subtree
  std::vector<Branch> children;  // the largest first
};

TreePlace knomial_tree(const Shape& shape, int rank, int radix);

/// The children and the rank itself in rank order: a fold of consecutive runs.
std::vector<int> fold_order(const TreePlace& place);

/// The children, the largest subtree first.
std::vector<int> child_ranks(const TreePlace& place);

/// What costs follow from.
struct TreeSize {
  int depth = 0;          // the longest way from the root, in edges
  int turns = 0;          // until all are reached, if in a turn each rank reaches one child
  int most_children = 0;  // of the rank that has the most
};
TreeSize knomial_size(const Shape& shape, int radix);

/// What a rank sends on average where subtrees' blocks go up or down as one message, in vectors of n blocks.
double mean_subtree_volume(const Shape& shape, int radix);

/// Of gather and scatter, which move a subtree's blocks as one message. Ranks on the way must know the
/// lengths, so there is no varying form.
bool supports_subtrees(const Shape& shape);
Cost subtrees_cost(const Shape& shape, int radix);
int most_subtree_blocks(const Shape& shape, int radix);

}  // namespace rondo
