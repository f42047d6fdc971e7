// SPDX-License-Identifier: Apache-2.0
// Ring reduce-scatter: block c starts at rank c + 1 and is folded at each rank it passes, until it is
// complete at rank c.
//
//         ┌──► 0 ──► 1 ──► 2 ──► 3 ──┐        block 0:  1 ─► 2 ─► 3 ─► 0
//         └──────────────────────────┘        block 1:  2 ─► 3 ─► 0 ─► 1
//
// n - 1 rounds of 1 / n of the input, and one neighbour in each direction; for commutative reductions.
// (Patarasuk, Yuan, JPDC 2009.)
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::reduce_scatter_ring {
namespace {

bool supports(const Shape& shape) { return shape.commutative && fits(shape, 2 * shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  return {.rounds = n - 1, .volume = (n - 1) / n, .warm = relayed_around(n, (n - 1) / n)};
}

Schedule build(const Shape& shape, int rank) {
  const int n = shape.nranks;
  const int next = wrap(rank + 1, n);
  const int previous = wrap(rank - 1, n);
  Schedule schedule(shape, rank, 1, rank == 0 && n > 2 ? n : 0);
  if (n == 1) {
    schedule.add({.src = input(0), .dst = output(0), .finish = true});
    return schedule;
  }
  schedule.add({.src = input(previous), .send = {next}});
  for (int hop = 2; hop < n; ++hop) {
    const int block = wrap(rank - hop, n);
    add_ring_relay(schedule, {.recv = {previous, rank}, .src = input(block), .send = {next}}, scratch(block));
  }
  schedule.add({.recv = {previous, rank}, .src = input(rank), .dst = output(0), .finish = true});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "ring",
          .kind = CollectiveKind::ReduceScatter,
          .summary = "each block once around a ring, folded on its way (Patarasuk, Yuan)",
          .supports = supports,
          .cost = cost,
          .build = build};
}

}  // namespace rondo::reduce_scatter_ring
