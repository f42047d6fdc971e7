// SPDX-License-Identifier: Apache-2.0
// All-reduce by leaders: the first rank of each group folds its group's vectors; the leaders exchange their
// folds, fold those, and send the result to their groups.
//
//     0 ◄── 1, 2      3 ◄── 4, 5        0 ◄─► 3        0 ──► 1, 2      3 ──► 4, 5
//
// One round between groups, with one message between each pair of leaders: for vectors so short that only the
// number of long-distance rounds matters. Folds are in rank order.
#include "algorithms/algorithm.h"
#include "groups.h"
#include "parts.h"

namespace rondo::all_reduce_leaders {
namespace {

bool supports(const Shape& shape) { return has_groups(shape) && fits(shape, 5); }

Cost cost(const Shape& shape) {
  const Groups groups(shape);
  const double others = groups.count() - 1;
  const double mean = others * groups.count() / shape.nranks;
  return {.rounds = 1,
          .volume = others,
          .messages = others,
          .folds = others,
          .mean = {.volume = mean, .messages = mean, .folds = mean}};
}

Cost intra_cost(const Shape& shape) {
  const Groups groups(shape);
  const double mates = groups.largest() - 1;
  const double mean = 1 - static_cast<double>(groups.count()) / shape.nranks;
  return {.rounds = 2,
          .volume = 2 * mates,
          .steady = 1.25 * mates,
          .messages = mates,
          .folds = mates,
          .mean = {.volume = 2 * mean, .messages = 2 * mean, .folds = mean}};
}

Schedule build(const Shape& shape, int rank) {
  const Groups groups(shape, rank);
  Schedule schedule(shape, rank);
  if (!groups.leads()) {
    schedule.add({.src = input(0), .send = {groups.leader()}});
    schedule.add({.recv = {groups.leader()}, .dst = output(0)});
    return schedule;
  }
  schedule.add({.recv = groups.whole_group(), .src = input(0), .dst = output(0)});
  schedule.add({.src = output(0), .send = groups.counterparts()});
  schedule.add({.recv = groups.whole_column(), .src = output(0), .dst = output(0), .finish = true});
  if (const auto mates = groups.mates(); !mates.empty()) schedule.add({.src = output(0), .send = mates});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "leaders",
          .kind = CollectiveKind::AllReduce,
          .summary = "leaders fold their groups' vectors, exchange, and send the result to their groups",
          .supports = supports,
          .cost = cost,
          .inner_cost = of_outermost<intra_cost>,
          .build = build,
          .for_groups = true,
          .connects_all = true};
}

}  // namespace rondo::all_reduce_leaders
