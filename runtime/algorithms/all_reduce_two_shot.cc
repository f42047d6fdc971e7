// SPDX-License-Identifier: Apache-2.0
// All-reduce in two shots: a direct reduce-scatter, then a direct all-gather.
//
//     shot 1: rank r folds part r of every vector        shot 2: rank r sends it to all
//
//          part 0    part 1    part 2                         part 0   part 1   part 2
//     0   [fold  ]   ──► 1     ──► 2                      0   ──► 1,2
//     1    ──► 0    [fold  ]   ──► 2                      1            ──► 0,2
//     2    ──► 0     ──► 1    [fold  ]                    2                     ──► 0,1
//
// Two rounds, and minimal volume, 2 (n - 1) / n, at the price of n - 1 connections per rank. Each part is
// folded once, in rank order. (Rabenseifner's decomposition with direct exchanges: R. Rabenseifner,
// Optimization of Collective Reduction Operations, ICCS 2004.)
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::all_reduce_two_shot {
namespace {

bool supports(const Shape& shape) { return fits(shape, 2 * shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  return {
      .rounds = n > 1 ? 2.0 : 0.0, .volume = 2 * (n - 1) / n, .messages = 2 * (n - 1), .folds = (n - 1) / n};
}

Schedule build(const Shape& shape, int rank) {
  const std::vector<int> others = others_after(shape.nranks, rank);
  Schedule schedule(shape, rank, shape.nranks);
  for (int peer : others) schedule.add({.src = input(peer), .send = {peer}});
  schedule.add({.recv = all_ranks(shape.nranks), .src = input(rank), .dst = output(rank), .finish = true});
  // A separate Step: if it were fused with the fold, connections with a single slot would deadlock, all ranks
  // waiting for one another's slots.
  if (!others.empty()) schedule.add({.src = output(rank), .send = others});
  for (auto peer = others.rbegin(); peer != others.rend(); ++peer)
    schedule.add({.recv = {*peer}, .dst = output(*peer)});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "two_shot",
          .kind = CollectiveKind::AllReduce,
          .summary = "direct reduce-scatter, then direct all-gather (Rabenseifner)",
          .supports = supports,
          .cost = cost,
          .build = build,
          .parts = [](const Shape& shape) { return shape.nranks; },
          .rounds = 2,
          .association = Association::OneFold,
          .connects_all = true};
}

}  // namespace rondo::all_reduce_two_shot
