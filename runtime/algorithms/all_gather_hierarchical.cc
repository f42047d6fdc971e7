// SPDX-License-Identifier: Apache-2.0
// All-gather in two levels: each rank sends its block to its counterparts in the other groups, and forwards
// the blocks it receives from them to its own group.
//
//     2 groups of 2:   0 1 | 2 3        far:   0 ◄─► 2   1 ◄─► 3
//                                       near:  0 ◄─[0 2 | 1 3]─► 1   2 ◄─[2 0 | 3 1]─► 3
//
// One round between groups, and each block enters a group once. (The second half of the hierarchical
// all-reduce.)
#include "algorithms/algorithm.h"
#include "groups.h"
#include "parts.h"

namespace rondo::all_gather_hierarchical {
namespace {

bool supports(const Shape& shape) { return has_groups(shape) && fits(shape, shape.nranks + 1); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks, others = Groups(shape).count() - 1;
  return {.rounds = 1, .volume = others / n, .messages = others};
}

Cost intra_cost(const Shape& shape) {
  const double n = shape.nranks, size = shape.levels.outermost();
  return {.rounds = n / size - 1, .volume = (size - 1) / size, .messages = n * (size - 1) / size};
}

Schedule build(const Shape& shape, int rank) {
  const Groups groups(shape, rank);
  const std::vector<int> mates = groups.mates();
  Schedule schedule(shape, rank);
  std::vector<int> all = groups.counterparts();
  all.insert(all.end(), mates.begin(), mates.end());
  schedule.add({.src = input(0), .dst = output(rank), .send = all});
  for (int mate : mates) schedule.add({.recv = {mate}, .dst = output(mate)});
  for (int distance = 1; distance < groups.count(); ++distance) {
    const int from = wrap(groups.group() - distance, groups.count());
    const int counterpart = groups.rank_at(from, groups.place());
    schedule.add({.recv = {counterpart}, .dst = output(counterpart), .send = mates});
    for (int mate : mates)
      schedule.add({.recv = {mate}, .dst = output(groups.rank_at(from, groups.place_of(mate)))});
  }
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "hierarchical",
          .kind = CollectiveKind::AllGather,
          .summary = "between counterparts in the groups, which forward within their groups",
          .supports = supports,
          .cost = cost,
          .inner_cost = of_outermost<intra_cost>,
          .build = build,
          .for_groups = true,
          .connects_all = true};
}

}  // namespace rondo::all_gather_hierarchical
