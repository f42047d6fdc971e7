// The tree of the binomial algorithms: a set of ranks is halved again and again, and the half without the
// leader gets one of its own. Pure functions: any thread.
//
//     8 ranks, root 0:      0
//                       ┌───┼───┐
//                       4   2   1
//                      ┌┴┐  │
//                      6 5  3
//                      │
//                      7
//
// Every subtree is a run of consecutive ranks, whatever the root, so that blocks move as one run and folds
// keep the order of the ranks: the left half's fold, then the right one's. With 2^k ranks and root 0 it is
// the binomial tree itself.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace rondo {

/// A child and the run of ranks below it, itself included. Its first rank, where the root is elsewhere.
struct Branch {
  int rank = 0;
  int first = 0;
  int count = 1;
};

struct TreePlace {
  int rank = 0;
  int parent = -1;               // -1: this is the root
  Branch own;                    // this rank's own subtree
  std::vector<Branch> children;  // the largest first
};

TreePlace halving_tree(int n, int root, int rank);

/// The children and the rank itself in rank order: a fold of consecutive runs.
std::vector<int> fold_order(const TreePlace& place);

/// The children, the largest subtree first.
std::vector<int> child_ranks(const TreePlace& place);

/// The longest way from the root, in edges.
int halving_depth(int n, int root);

/// The children of the rank that has the most.
int most_children(int n, int root);

/// Of gather and scatter, which move a subtree's blocks as one message. Ranks on the way must know the
/// lengths, so there is no varying form.
bool supports_subtrees(const Shape& shape);
Cost subtrees_cost(const Shape& shape);
int most_subtree_blocks(const Shape& shape);

}  // namespace rondo
