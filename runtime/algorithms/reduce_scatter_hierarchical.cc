// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter in two levels: for each other group, each rank of a group folds its group's blocks for its
// counterpart there and sends it the fold; the counterpart folds the groups' folds.
//
//     2 groups of 2:   0 1 | 2 3        near:  0 folds block 2 of 0, 1, and then block 0        1: 3, then 1
//                                       far:   0 ─► 2, which folds it with its own              1 ─► 3
//
// One round between groups, and only one fold of each block leaves a group. Folds are in rank order. (The
// first half of the hierarchical all-reduce.)
#include "algorithms/algorithm.h"
#include "groups.h"
#include "parts.h"

namespace rondo::reduce_scatter_hierarchical {
namespace {

bool supports(const Shape& shape) { return has_groups(shape) && fits(shape, shape.nranks + 1); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks, others = Groups(shape).count() - 1;
  return {.rounds = 1, .volume = others / n, .messages = others, .folds = others / n};
}

Cost intra_cost(const Shape& shape) {
  const double n = shape.nranks, size = shape.levels.outermost();
  return {.rounds = n / size - 1,
          .volume = (size - 1) / size,
          .messages = n * (size - 1) / size,
          .folds = (size - 1) / size};
}

Schedule build(const Shape& shape, int rank) {
  const Groups groups(shape, rank);
  Schedule schedule(shape, rank);
  for (int distance = 1; distance <= groups.count(); ++distance) {
    const int to = wrap(groups.group() + distance, groups.count());
    for (int mate : groups.mates())
      schedule.add({.src = input(groups.rank_at(to, groups.place_of(mate))), .send = {mate}});
    const int owner = groups.rank_at(to, groups.place());
    Move fold{.recv = groups.whole_group(), .src = input(owner)};
    if (owner == rank)
      fold.dst = output(0);
    else
      fold.send = {owner};
    schedule.add(fold);
  }
  schedule.add({.recv = groups.whole_column(), .src = output(0), .dst = output(0), .finish = true});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "hierarchical",
          .kind = CollectiveKind::ReduceScatter,
          .summary = "folds within the groups, sent to their counterparts, which fold those",
          .supports = supports,
          .cost = cost,
          .inner_cost = of_outermost<intra_cost>,
          .build = build,
          .for_groups = true,
          .connects_all = true};
}

}  // namespace rondo::reduce_scatter_hierarchical
