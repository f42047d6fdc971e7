// SPDX-License-Identifier: Apache-2.0
#include "in_order_tree.h"

#include "parts.h"

namespace rondo {
namespace {

int parent_of(int position, int n) {
  if (position == 1 << floor_log2(n)) return 0;
  int bit = position & -position;
  do {  // positions past n do not exist: their children are attached to their parent instead
    position = (position & (2 * bit)) != 0 ? position - bit : position + bit;
    bit *= 2;
  } while (position > n);
  return position;
}

}  // namespace

TreeNode in_order_node(int position, int n) {
  TreeNode node;
  node.parent = parent_of(position, n);
  int reach = (position & -position) / 2;
  if (reach == 0) return node;
  node.children.push_back(position - reach);
  while (reach > 0 && position + reach > n) reach /= 2;
  if (reach > 0) node.children.push_back(position + reach);
  return node;
}

}  // namespace rondo
