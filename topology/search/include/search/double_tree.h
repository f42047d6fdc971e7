// SPDX-License-Identifier: Apache-2.0
// DoubleTree: two binary trees over the same GPUs in which each GPU has children in at most one, so that each
// sends no more than it receives when both trees carry one half of a vector (P. Sanders, J. Speck, J. L.
// Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009). Pure function: any
// thread.
//
//   places 1 to 7:      4              the same, one on:       5
//                     /   \                                  /   \                                          .
//                    2     6                                3     7
//                   / \   / \                              / \   / \                                        .
//                  1   3 5   7                            2   4 6   1
#pragma once

#include <array>
#include <span>
#include <vector>

namespace rondo {

struct DoubleTree {
  /// By tree and rank: the rank of the parent; -1: the root.
  std::array<std::vector<int>, 2> parents;
  friend bool operator==(const DoubleTree&, const DoubleTree&) = default;
};

/// Over an order that has each rank from 0 to n - 1 once, as the channel of a RingPlan has it: neighbours in
/// the order are close in the trees.
DoubleTree double_tree(std::span<const int> order);

}  // namespace rondo
