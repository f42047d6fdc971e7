// SPDX-License-Identifier: Apache-2.0
// Barrier by leaders: the first rank of each group waits for its whole group, then exchanges messages with
// the other leaders, then releases its group.
//
//     0 ◄── 1, 2      3 ◄── 4, 5        0 ◄─► 3        0 ──► 1, 2      3 ──► 4, 5
//
// Among the leaders either one round, with one message from each to each other, or a dissemination, by which
// each is connected with few others.
#include "algorithms/algorithm.h"
#include "groups.h"
#include "parts.h"

namespace rondo::barrier_leaders {
namespace {

bool supports(const Shape& shape) { return has_groups(shape) && fits(shape, shape.nranks + 2); }

Cost intra_cost(const Shape& shape) { return {.rounds = 2, .messages = Groups(shape).largest() - 1.0}; }

Cost cost_of_each_other(const Shape& shape) {
  return {.rounds = 1, .messages = static_cast<double>(Groups(shape).count() - 1)};
}

Cost cost_of_dissemination(const Shape& shape) {
  return {.rounds = static_cast<double>(ceil_log2(Groups(shape).count()))};
}

void hear(Schedule& schedule, const std::vector<int>& ranks) {
  for (int peer : ranks) schedule.add({.recv = {peer}, .dst = output(0)});
}

void notify_each_other(Schedule& schedule, const Groups& groups) {
  schedule.add({.src = input(0), .send = groups.counterparts()});
  hear(schedule, groups.counterparts());
}

/// As in barrier_dissemination.cc.
void disseminate(Schedule& schedule, const Groups& groups) {
  const auto leader = [&](int distance) {
    return groups.rank_at(wrap(groups.group() + distance, groups.count()), 0);
  };
  for (int distance = 1; distance < groups.count(); distance *= 2) {
    schedule.add({.src = input(0), .send = {leader(distance)}});
    hear(schedule, {leader(-distance)});
  }
}

template <void (*kBetween)(Schedule& schedule, const Groups& groups)>
Schedule build(const Shape& shape, int rank) {
  const Groups groups(shape, rank);
  Schedule schedule(shape, rank);
  if (!groups.leads()) {
    schedule.add({.src = input(0), .send = {groups.leader()}});
    hear(schedule, {groups.leader()});
    return schedule;
  }
  hear(schedule, groups.mates());
  kBetween(schedule, groups);
  if (const auto mates = groups.mates(); !mates.empty()) schedule.add({.src = input(0), .send = mates});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "leaders",
          .kind = CollectiveKind::Barrier,
          .summary = "leaders hear from their groups, notify one another, then their groups",
          .supports = supports,
          .cost = cost_of_each_other,
          .inner_cost = of_outermost<intra_cost>,
          .build = build<notify_each_other>,
          .for_groups = true,
          .connects_all = true};
}

Algorithm dissemination() {
  return {.name = "leaders_dissemination",
          .kind = CollectiveKind::Barrier,
          .summary = "leaders hear from their groups, disseminate, then notify their groups",
          .supports = supports,
          .cost = cost_of_dissemination,
          .inner_cost = of_outermost<intra_cost>,
          .build = build<disseminate>,
          .for_groups = true};
}

}  // namespace rondo::barrier_leaders
