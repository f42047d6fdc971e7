// SPDX-License-Identifier: Apache-2.0
#include "search/double_tree.h"

namespace rondo {
namespace {

/// In the search tree of the places 1 to n, whose leaves are the odd ones: the parent of a place, 0 of the
/// root. A place is as high above the leaves as its lowest set bit; where the tree of 2^h - 1 places has a
/// parent beyond n, the parent's own takes its place.
int parent_of(int place, int places) {
  int lowest = place & -place;
  while (lowest <= places) {
    place = (place & ~lowest) | (lowest << 1);
    lowest <<= 1;
    if (place <= places) return place;
  }
  return 0;
}

}  // namespace

/// The second tree has every rank at a place of the other parity, so that interior places become leaves: one
/// place on if n is odd, else mirrored.
DoubleTree double_tree(std::span<const int> order) {
  const auto places = static_cast<int>(order.size());
  const auto rank_at = [&](int tree, int place) {
    const int mirrored = places - place, moved = place % places;
    const int index = tree == 0 ? place - 1 : places % 2 == 0 ? mirrored : moved;
    return order[static_cast<size_t>(index)];
  };
  DoubleTree result;
  for (int tree = 0; tree != 2; ++tree) {
    std::vector<int>& parents = result.parents[static_cast<size_t>(tree)];
    parents.resize(order.size());
    for (int place = 1; place <= places; ++place) {
      const int parent = parent_of(place, places);
      parents[static_cast<size_t>(rank_at(tree, place))] = parent == 0 ? -1 : rank_at(tree, parent);
    }
  }
  return result;
}

}  // namespace rondo
