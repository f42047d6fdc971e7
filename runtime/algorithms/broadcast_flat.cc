// SPDX-License-Identifier: Apache-2.0
// Flat broadcast: the root sends to all ranks.
//
//     root ──► 1, 2, 3, ... n - 1
//
// One round, n - 1 vectors out of the root: for few ranks or a few bytes, or if one write reaches all ranks
// (multicast).
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::broadcast_flat {
namespace {

bool supports(const Shape& shape) { return fits(shape, 1); }

Cost cost(const Shape& shape) {
  const double vectors = shape.nranks - 1;
  return {.rounds = shape.nranks > 1 ? 1.0 : 0.0,
          .volume = vectors,
          .steady = vectors,
          .messages = vectors,
          .warm = vectors,
          .one_way = true,
          .mean = warm_each(shape)};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  if (rank == shape.root)
    schedule.add({.src = input(0), .dst = output(0), .send = others_after(shape.nranks, rank)});
  else
    schedule.add({.recv = {shape.root}, .dst = output(0)});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "flat",
          .kind = CollectiveKind::Broadcast,
          .summary = "the root sends to all ranks: one round",
          .supports = supports,
          .cost = cost,
          .build = build,
          .rounds = 1,
          .connects_all = true};
}

}  // namespace rondo::broadcast_flat
