// SPDX-License-Identifier: Apache-2.0
// Binary trees with in-order traversal 1, 2, ... n: arithmetic on the lowest set bit. Pure functions: any
// thread.
//
//                4               a node's height is the number of its trailing zero bits;
//            ┌───┴───┐           odd positions are leaves, even ones are not (except possibly the last)
//            2       6
//          ┌─┴─┐   ┌─┴─┐
//          1   3   5   7
#pragma once

#include <vector>

namespace rondo {

struct TreeNode {
  int parent = 0;             // 0: this is the root
  std::vector<int> children;  // at most two, the lower one first
};

TreeNode in_order_node(int position, int n);

}  // namespace rondo
