// SPDX-License-Identifier: Apache-2.0
// Barrier by leaders: the first rank of each group waits for its whole group, then exchanges messages with
// the other leaders, then releases its group.
//
//     0 ◄── 1, 2      3 ◄── 4, 5        0 ◄─► 3        0 ──► 1, 2      3 ──► 4, 5
//
// One round between groups, with one message from each leader to each other.
#include "algorithms/algorithm.h"
#include "groups.h"
#include "parts.h"

namespace rondo::barrier_leaders {
namespace {

bool supports(const Shape& shape) { return has_groups(shape) && fits(shape, shape.nranks + 2); }

Cost cost(const Shape& shape) {
  return {.rounds = 1, .messages = static_cast<double>(Groups(shape).count() - 1)};
}

Cost intra_cost(const Shape& shape) { return {.rounds = 2, .messages = shape.group - 1.0}; }

Schedule build(const Shape& shape, int rank) {
  const Groups groups(shape, rank);
  Schedule schedule(shape, rank);
  const auto hear = [&schedule](const std::vector<int>& ranks) {
    for (int peer : ranks) schedule.add({.recv = {peer}, .dst = output(0)});
  };
  if (!groups.leads()) {
    schedule.add({.src = input(0), .send = {groups.leader()}});
    hear({groups.leader()});
    return schedule;
  }
  hear(groups.mates());
  schedule.add({.src = input(0), .send = groups.counterparts()});
  hear(groups.counterparts());
  schedule.add({.src = input(0), .send = groups.mates()});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "leaders",
          .kind = CollectiveKind::Barrier,
          .summary = "leaders hear from their groups, notify one another, then their groups",
          .supports = supports,
          .cost = cost,
          .intra_cost = intra_cost,
          .build = build,
          .for_groups = true};
}

}  // namespace rondo::barrier_leaders
