// SPDX-License-Identifier: Apache-2.0
// Flat scans: each rank sends its vector to all ranks above it, and folds those from below.
//
//     0 ──► 1,2,3     1 ──► 2,3     2 ──► 3          scan:     x0, x0 + x1, (x0 + x1) + x2, ...
//                                                    exscan:   -, x0, x0 + x1, (x0 + x1) + x2
//
// One round, up to n - 1 vectors in and out of a rank: for a few bytes. Rank 0's output of the exclusive scan
// is never written.
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::scan_flat {
namespace {

bool supports(const Shape& shape) { return fits(shape, 2); }

Cost cost(const Shape& shape) {
  const double others = shape.nranks - 1;
  return {.rounds = others > 0 ? 1.0 : 0.0, .volume = others, .messages = others};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  if (rank + 1 < shape.nranks) schedule.add({.src = input(0), .send = ranks_above(shape.nranks, rank)});
  if (shape.kind == CollectiveKind::Scan)
    schedule.add({.recv = all_ranks(rank + 1), .src = input(0), .dst = output(0)});
  else if (rank > 0)
    schedule.add({.recv = all_ranks(rank), .dst = output(0)});
  return schedule;
}

Algorithm row(CollectiveKind kind) {
  return {.name = "flat",
          .kind = kind,
          .summary = "every rank sends to all above it; each folds: one round",
          .supports = supports,
          .cost = cost,
          .build = build,
          .rounds = 1,
          .association = Association::OneFold,
          .connects_all = true};
}

}  // namespace

Algorithm scan() { return row(CollectiveKind::Scan); }
Algorithm exscan() { return row(CollectiveKind::Exscan); }

}  // namespace rondo::scan_flat
