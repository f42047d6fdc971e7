// SPDX-License-Identifier: Apache-2.0
// Dissemination barrier: in round k each rank tells the rank 2^k above it that all ranks it has heard of,
// directly or not, have entered.
//
//     round 0:  r ─► r + 1        after round k a rank has heard of 2^(k+1) ranks, itself included;
//     round 1:  r ─► r + 2        after ceil(log2 n) rounds, of all
//     round 2:  r ─► r + 4
//
// Empty messages. (D. Hensgen, R. Finkel, U. Manber, Two Algorithms for Barrier Synchronization, IJPP 1988.)
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::barrier_dissemination {
namespace {

bool supports(const Shape& shape) { return fits(shape, ceil_log2(shape.nranks) + 1); }

Cost cost(const Shape& shape) { return {static_cast<double>(ceil_log2(shape.nranks)), 0.0}; }

Schedule build(const Shape& shape, int rank) {
  const int n = shape.nranks;
  Schedule schedule(shape, rank);
  if (n == 1) return schedule;
  schedule.add({.src = input(0), .send = {wrap(rank + 1, n)}});
  for (int distance = 1; distance < n; distance *= 2) {
    Move move{.recv = {wrap(rank - distance, n)}, .dst = output(0)};
    if (2 * distance < n) move.send = {wrap(rank + 2 * distance, n)};
    schedule.add(move);
  }
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "dissemination",
          .kind = CollectiveKind::Barrier,
          .summary = "notify a rank twice as far each round (Hensgen, Finkel, Manber)",
          .supports = supports,
          .cost = cost,
          .build = build,
          .connects_up_and_down = true};
}

}  // namespace rondo::barrier_dissemination
