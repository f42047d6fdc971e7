// SPDX-License-Identifier: Apache-2.0
// Groups of close ranks (Shape::levels), for algorithms of two levels. A rank's mates are the others of its
// group; its counterparts are the ranks at the same place in other groups. Algorithms are written for groups
// of consecutive ranks; the table relabels them for others (Shape::order). Pure functions: any thread.
//
//     groups of 3:     0 1 2 | 3 4 5 | 6 7 8        mates of 4: 5, 3        its counterparts: 7, 1
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace rondo {

/// Whether there are several groups of several ranks, all of the same size. If groups are not of consecutive
/// ranks, the shape must also allow operands in any order.
bool has_groups(const Shape& shape);

class Groups {
 public:
  /// The largest groups as seen from `rank`; requires has_groups(shape).
  Groups(const Shape& shape, int rank);
  /// `count` groups of `size` ranks.
  Groups(int count, int size, int rank);
  explicit Groups(const Shape& shape) : Groups(shape, 0) {}

  int size() const { return size_; }    // ranks per group
  int count() const { return count_; }  // groups
  int group() const { return group_; }  // of the rank
  int place() const { return place_; }  // of the rank in its group

  int group_of(int rank) const { return rank / size_; }
  int place_of(int rank) const { return rank % size_; }
  int rank_at(int group, int place) const { return group * size_ + place; }
  bool leads() const { return place_ == 0; }
  int leader() const { return rank_at(group_, 0); }

  /// The others of its group, and those at its place in other groups; each in cyclic order from the next one.
  std::vector<int> mates() const;
  std::vector<int> counterparts() const;
  /// The same including the rank itself, in rank order: as the operands of a fold.
  std::vector<int> whole_group() const;
  std::vector<int> whole_column() const;

 private:
  int size_;
  int count_;
  int group_;
  int place_;
};

/// Algorithm::inner_cost() of an algorithm that only knows the largest groups.
template <Cost (*kWithin)(const Shape& shape)>
Cost of_outermost(const Shape& shape, int level) {
  return level + 1 == shape.levels.count() ? kWithin(shape) : Cost{};
}

}  // namespace rondo
