// SPDX-License-Identifier: Apache-2.0
// Flat barrier: each rank tells every other that it has entered.
//
//     0 ──► 1,2,3     1 ──► 0,2,3     2 ──► 0,1,3     3 ──► 0,1,2
//
// One round, but n - 1 empty messages per rank, which the cost model does not count: for ranks that share
// memory, where telling all of them is a single write.
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::barrier_flat {
namespace {

bool supports(const Shape& shape) { return fits(shape, shape.nranks); }

Cost cost(const Shape& shape) {
  return {.rounds = shape.nranks > 1 ? 1.0 : 0.0, .messages = shape.nranks - 1.0};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  if (shape.nranks == 1) return schedule;
  schedule.add({.src = input(0), .send = others_after(shape.nranks, rank)});
  for (int peer : others_after(shape.nranks, rank)) schedule.add({.recv = {peer}, .dst = output(0)});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "flat",
          .kind = CollectiveKind::Barrier,
          .summary = "every rank notifies every other: one round",
          .supports = supports,
          .cost = cost,
          .build = build,
          .rounds = 1,
          .for_shared_memory = true,
          .connects_all = true};
}

}  // namespace rondo::barrier_flat
