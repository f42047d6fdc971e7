// Binary trees whose in-order walk is 1, 2, ... n: arithmetic on the lowest set bit. Pure functions: any
// thread.
//
//                4               a node's height is the number of its trailing zero bits;
//            ┌───┴───┐           odd positions are leaves, even ones are not (but for the last, which may be)
//            2       6
//          ┌─┴─┐   ┌─┴─┐
//          1   3   5   7
#pragma once

#include <vector>

namespace rondo {

struct TreeNode {
  int parent = 0;             // 0: this is the root
  std::vector<int> children;  // at most two, the lower first
};

TreeNode in_order_node(int position, int n);

}  // namespace rondo
