// SPDX-License-Identifier: Apache-2.0
// Ring all-gather: every block travels once around the ring, and each rank keeps a copy.
//
//         ┌──► 0 ──► 1 ──► 2 ──► 3 ──┐        block 0:  0 ─► 1 ─► 2 ─► 3
//         └──────────────────────────┘        block 1:  1 ─► 2 ─► 3 ─► 0
//
// n - 1 rounds of 1 / n of the result, and one neighbour in each direction. (Thakur, Rabenseifner, Gropp,
// IJHPCA 2005.)
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::all_gather_ring {
namespace {

bool supports(const Shape& shape) { return fits(shape, 2 * shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  return {.rounds = n - 1, .volume = (n - 1) / n, .warm = relayed_around(n, (n - 1) / n)};
}

Schedule build(const Shape& shape, int rank) {
  const int n = shape.nranks;
  const int next = wrap(rank + 1, n);
  const int previous = wrap(rank - 1, n);
  Schedule schedule(shape, rank);
  if (n == 1) {
    schedule.add({.src = input(0), .dst = output(0)});
    return schedule;
  }
  schedule.add({.src = input(0), .dst = output(rank), .send = {next}});
  for (int hop = 1; hop < n - 1; ++hop) {
    const int block = wrap(rank - hop, n);
    add_ring_relay(schedule, {.recv = {previous}, .dst = output(block), .send = {next}}, output(block));
  }
  schedule.add({.recv = {previous}, .dst = output(next)});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "ring",
          .kind = CollectiveKind::AllGather,
          .summary = "every block once around a ring (Thakur, Rabenseifner, Gropp)",
          .supports = supports,
          .cost = cost,
          .build = build};
}

}  // namespace rondo::all_gather_ring
