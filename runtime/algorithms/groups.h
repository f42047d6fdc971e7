// SPDX-License-Identifier: Apache-2.0
// Groups of close ranks (Shape::levels), for algorithms of two levels. A rank's mates are the others of its
// group; its counterparts are the ranks at the same place in other groups. Algorithms are written for groups
// of consecutive ranks; the table relabels them for others (Shape::order). Pure functions: any thread.
//
//     groups of 3:     0 1 2 | 3 4 5 | 6 7 8        mates of 4: 5, 3        its counterparts: 7, 1
//
// Groups that are hosts may differ in size (Shape::hosts). The places are then those that each of them has.
//
//     0 1 2 | 3 4 | 5 6 7        places 0 and 1: 0 3 5, 1 4 6        2 and 7 have none
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace rondo {

class Groups {
 public:
  /// The largest groups as seen from `rank`; requires has_groups(shape).
  Groups(const Shape& shape, int rank);
  explicit Groups(const Shape& shape) : Groups(shape, 0) {}
  /// The smallest groups.
  static Groups smallest(const Shape& shape, int rank = 0);

  int size() const { return size_; }        // places: ranks of a group, or of the smallest
  int largest() const { return largest_; }  // ranks of the largest group
  int count() const { return count_; }      // groups
  int group() const { return group_; }      // of the rank
  int place() const { return place_; }      // of the rank in its group; if not below size(), it has none
  bool has_place() const { return place_ < size_; }

  int group_of(int rank) const;
  int place_of(int rank) const { return rank - first_of(group_of(rank)); }
  int rank_at(int group, int place) const { return first_of(group) + place; }
  bool leads() const { return place_ == 0; }
  int leader() const { return rank_at(group_, 0); }

  /// The others of its group, those of them that have places, and those at its place in other groups; each in
  /// cyclic order from the next one.
  std::vector<int> mates() const;
  std::vector<int> mates_with_places() const;
  std::vector<int> counterparts() const;
  /// The same including the rank itself, in rank order: as the operands of a fold.
  std::vector<int> whole_group() const;
  std::vector<int> whole_column() const;

 private:
  Groups(int count, int size, int rank);
  Groups(std::span<const int> sizes, int rank);
  int first_of(int group) const;
  int size_of(int group) const { return first_of(group + 1) - first_of(group); }

  int size_;
  int largest_;
  int count_;
  int group_;
  int place_;
  std::vector<int> firsts_;  // of groups that differ in size, and the number of ranks
};

/// Algorithm::inner_cost() of an algorithm that only knows the largest groups.
template <Cost (*kWithin)(const Shape& shape)>
Cost of_outermost(const Shape& shape, int level) {
  return level + 1 == shape.level_count() ? kWithin(shape) : Cost{};
}

}  // namespace rondo
