// SPDX-License-Identifier: Apache-2.0
// Divides any number of ranks into 2^k groups of one or two ranks, for algorithms that pair ranks by bits.
// Pure functions: any thread.
//
//     6 ranks, 4 groups:   group 0: 0 1    group 1: 2 3    group 2: 4    group 3: 5
//
// A group's first rank leads; its second, if any, sends its operand to the leader and receives its result.
#pragma once

namespace rondo {

class PowerGroups {
 public:
  explicit PowerGroups(int nranks);

  int groups() const { return groups_; }
  bool uneven() const { return extra_ > 0; }
  /// The leader of a group; for groups() itself, the number of ranks.
  int leader(int group) const { return group < extra_ ? 2 * group : group + extra_; }
  int group_of(int rank) const { return rank < 2 * extra_ ? rank / 2 : rank - extra_; }
  bool leads(int rank) const { return leader(group_of(rank)) == rank; }
  /// The group's second rank; -1 if it has none.
  int second(int group) const { return group < extra_ ? 2 * group + 1 : -1; }

 private:
  int groups_;
  int extra_;  // number of groups of two; they come first
};

}  // namespace rondo
