// SPDX-License-Identifier: Apache-2.0
// Ring all-reduce: a reduce-scatter around a ring, then an all-gather around it.
//
//     part c starts at rank c + 1 and is folded at each rank it passes; it is complete at rank c, and then
//     travels once more around the ring to be stored:
//
//         ┌──► 0 ──► 1 ──► 2 ──► 3 ──┐        part 0:  1 ─► 2 ─► 3 ─► 0 (complete) ─► 1 ─► 2 ─► 3
//         └──────────────────────────┘
//
// 2 (n - 1) rounds of 1 / n of the vector: minimal volume, and one neighbour in each direction. The fold of
// part c starts at rank c + 1, so this is for commutative reductions. (P. Patarasuk, X. Yuan, Bandwidth
// optimal all-reduce algorithms for clusters of workstations, JPDC 2009.)
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::all_reduce_ring {
namespace {

bool supports(const Shape& shape) { return shape.commutative && fits(shape, 4 * shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  return {.rounds = 2 * (n - 1),
          .volume = 2 * (n - 1) / n,
          .folds = (n - 1) / n,
          .warm = relayed_around(n, 2 * (n - 1) / n)};
}

Schedule build(const Shape& shape, int rank) {
  const int n = shape.nranks;
  const int next = wrap(rank + 1, n);
  const int previous = wrap(rank - 1, n);
  Schedule schedule(shape, rank, n);
  if (n == 1) {
    schedule.add({.src = input(0), .dst = output(0), .finish = true});
    return schedule;
  }
  schedule.add({.src = input(previous), .send = {next}});
  for (int hop = 2; hop < n; ++hop) {
    const int part = wrap(rank - hop, n);
    add_ring_relay(schedule, {.recv = {previous, rank}, .src = input(part), .send = {next}}, output(part));
  }
  add_ring_relay(
      schedule,
      {.recv = {previous, rank}, .src = input(rank), .dst = output(rank), .send = {next}, .finish = true},
      output(rank));
  for (int hop = 1; hop < n - 1; ++hop) {
    const int part = wrap(rank - hop, n);
    add_ring_relay(schedule, {.recv = {previous}, .dst = output(part), .send = {next}}, output(part));
  }
  schedule.add({.recv = {previous}, .dst = output(next)});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "ring",
          .kind = CollectiveKind::AllReduce,
          .summary = "reduce-scatter and all-gather around a ring (Patarasuk, Yuan)",
          .supports = supports,
          .cost = cost,
          .build = build,
          .parts = [](const Shape& shape) { return shape.nranks; }};
}

}  // namespace rondo::all_reduce_ring
