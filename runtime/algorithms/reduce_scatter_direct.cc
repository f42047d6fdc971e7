// SPDX-License-Identifier: Apache-2.0
// Direct reduce-scatter: each rank sends every other rank its block, and folds the blocks it receives.
//
//     0: ─► 1,2,3     1: ─► 2,3,0     2: ─► 3,0,1     3: ─► 0,1,2        (a different block to each)
//     then at rank r:  ((x0[r] + x1[r]) + x2[r]) + x3[r]
//
// One round, minimal volume, a fold in rank order; n - 1 connections per rank.
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::reduce_scatter_direct {
namespace {

bool supports(const Shape& shape) { return fits(shape, shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  return {.rounds = n > 1 ? 1.0 : 0.0, .volume = (n - 1) / n, .messages = n - 1};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  for (int peer : others_after(shape.nranks, rank)) schedule.add({.src = input(peer), .send = {peer}});
  schedule.add({.recv = all_ranks(shape.nranks), .src = input(rank), .dst = output(0), .finish = true});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "direct",
          .kind = CollectiveKind::ReduceScatter,
          .summary = "every rank sends each other its block: one round, in rank order",
          .supports = supports,
          .cost = cost,
          .build = build,
          .rounds = 1,
          .association = Association::OneFold,
          .connects_all = true};
}

}  // namespace rondo::reduce_scatter_direct
