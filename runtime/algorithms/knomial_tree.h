// SPDX-License-Identifier: Apache-2.0
// The trees of the k-nomial algorithms; radix 2 is the binomial tree. A set of ranks is recursively cut into
// k runs, and each run without the leader gets its own. Pure functions: any thread.
//
//     8 ranks, root 0, radix 2:      0              radix 4:         0
//                                ┌───┼───┐                       ┌──┬┴─┬──┐
//                                4   2   1                       2  4  6  1
//                               ┌┴┐  │                           │  │  │
//                               6 5  3                           3  5  7
//                               │
//                               7
//
// Every subtree is a run of consecutive ranks, for any root, so blocks move as one run and folds are in rank
// order. With k^m ranks and root 0 it is the classic k-nomial tree.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace rondo {

constexpr int kBinomial = 2;
/// The radix of the rows named knomial4: half the rounds of a binomial tree, for half as many messages again.
constexpr int kKnomial = 4;

/// A run of ranks and its leader: the root if the run contains it, else the first rank.
struct Branch {
  int rank = 0;
  int first = 0;
  int count = 1;

  bool holds(int other) const { return other >= first && other < first + count; }
};

/// Cuts a set of at least two ranks into `radix` runs (of one rank each, if it has fewer ranks), as even as
/// possible, the longer ones first; the run that contains the set's leader keeps it.
std::vector<Branch> cut_run(const Branch& whole, int radix);

struct TreePlace {
  int rank = 0;
  int parent = -1;               // -1: this is the root
  Branch own;                    // this rank's own subtree
  std::vector<Branch> children;  // the largest first
};

TreePlace knomial_tree(const Shape& shape, int rank, int radix);

/// The children and the rank itself in rank order, as operands of a fold: each stands for a run of ranks.
std::vector<int> fold_order(const TreePlace& place);

/// The children, the largest subtree first.
std::vector<int> child_ranks(const TreePlace& place);

/// The basis of the cost functions.
struct TreeSize {
  int depth = 0;         // in edges
  int turns = 0;         // until all are reached, if each rank reaches one child per turn
  int max_children = 0;  // of the rank that has the most
};
TreeSize knomial_size(const Shape& shape, int radix);

/// The volume that a rank sends on average if subtrees' blocks move as one message, in vectors of n blocks.
double mean_subtree_volume(const Shape& shape, int radix);

/// For gather and scatter, which move a subtree's blocks as one message. Intermediate ranks must know the
/// lengths, so there is no varying form.
bool supports_subtrees(const Shape& shape);
Cost subtrees_cost(const Shape& shape, int radix);
int max_subtree_blocks(const Shape& shape, int radix);

}  // namespace rondo
