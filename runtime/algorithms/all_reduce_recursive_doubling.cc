// SPDX-License-Identifier: Apache-2.0
// All-reduce by recursive doubling: partners at distance 1, 2, 4 ... exchange their folds and add them.
//
//     distance 1:   0 ◄─► 1   2 ◄─► 3          both fold  lower + upper, so all get the same bits
//     distance 2:   0 ◄─► 2   1 ◄─► 3
//
//     if n is not a power of two, the first ranks work in pairs:
//     1 ─► 0,  3 ─► 2  before,  0 ─► 1,  2 ─► 3  after
//
// log2 n rounds (two more for other n) of the whole vector: for short vectors. Runs of consecutive ranks are
// joined, so the fold is in rank order. (Thakur, Rabenseifner, Gropp, IJHPCA 2005.)
#include <utility>

#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::all_reduce_recursive_doubling {
namespace {

// Divides any number of ranks into 2^k groups of one or two ranks, for pairing ranks by bits.
//
//     6 ranks, 4 groups:   group 0: 0 1    group 1: 2 3    group 2: 4    group 3: 5
//
// A group's first rank leads; its second, if any, sends its operand to the leader and receives its result.
class PowerGroups {
 public:
  explicit PowerGroups(int nranks) : groups_(1 << floor_log2(nranks)), extra_(nranks - groups_) {}

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

bool supports(const Shape& shape) { return fits(shape, ceil_log2(shape.nranks) + 2); }

/// The first rank of a pair receives its second's vector while its first partner's is already in flight.
Cost cost(const Shape& shape) {
  const double rounds = floor_log2(shape.nranks);
  const PowerGroups groups(shape.nranks);
  if (!groups.uneven()) return {.rounds = rounds, .volume = rounds, .folds = rounds};
  const double pairs = shape.nranks - groups.groups();
  const double exchanged = groups.groups() * rounds;
  const CpuWork mean{.volume = (exchanged + 2 * pairs) / shape.nranks,
                     .messages = (exchanged + 2 * pairs) / shape.nranks,
                     .folds = (exchanged + pairs) / shape.nranks};
  return {.rounds = rounds + 2, .volume = rounds + 3, .folds = rounds + 1, .mean = mean};
}

Schedule build(const Shape& shape, int rank) {
  const PowerGroups groups(shape.nranks);
  const int group = groups.group_of(rank);
  const int second = groups.second(group);
  Schedule schedule(shape, rank);
  if (!groups.leads(rank)) {
    schedule.add({.src = input(0), .send = {groups.leader(group)}});
    schedule.add({.recv = {groups.leader(group)}, .dst = output(0)});
    return schedule;
  }
  // Each Step folds one round's message and sends the sum to the next round's partner.
  Move move{.src = input(0)};
  if (second >= 0) move = {.recv = {rank, second}, .src = input(0), .dst = output(0)};
  Ref fold = second >= 0 ? output(0) : input(0);
  for (int distance = 1; distance < groups.groups(); distance *= 2) {
    const int partner = groups.leader(group ^ distance);
    move.send = {partner};
    schedule.add(move);
    move = {.recv = {rank, partner}, .src = fold, .dst = output(0)};
    if (partner < rank) std::swap(move.recv[0], move.recv[1]);
    fold = output(0);
  }
  move.dst = output(0);
  move.finish = true;
  if (second >= 0) move.send = {second};
  schedule.add(move);
  return schedule;
}

}  // namespace

Algorithm row() {
  return {
      .name = "recursive_doubling",
      .kind = CollectiveKind::AllReduce,
      .summary =
          "partners at distance 1, 2, 4 exchange their folds, in rank order (Thakur, Rabenseifner, Gropp)",
      .supports = supports,
      .cost = cost,
      .cost_is_estimate = true,
      .build = build};
}

}  // namespace rondo::all_reduce_recursive_doubling
