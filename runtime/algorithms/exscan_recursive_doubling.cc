// SPDX-License-Identifier: Apache-2.0
// Exclusive scan by recursive doubling. Each vector first moves one rank up; then it is the scan of ranks 1
// to n - 1.
//
//     shift:        0 ─► 1 ─► 2 ─► 3 ─► 4          r holds x(r-1)
//     distance 1:        1 ─► 2 ─► 3 ─► 4          the fold of x(r-2) .. x(r-1)
//     distance 2:        1 ─► 3   2 ─► 4           of x(r-4) .. x(r-1)
//
// 1 + ceil(log2(n - 1)) rounds of the whole vector, in rank order. Rank 0's output is never written. (Hillis,
// Steele, CACM 1986.)
#include "algorithms/algorithm.h"
#include "doubling_scan.h"
#include "parts.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) { return fits(shape, ceil_log2(shape.nranks) + 3); }

Cost cost(const Shape& shape) {
  if (shape.nranks == 1) return {};
  const double vectors = 1 + ceil_log2(shape.nranks - 1);
  return {1.0 + floor_log2(shape.nranks - 1), vectors, vectors};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  if (rank + 1 < shape.nranks) schedule.add({.src = input(0), .send = {rank + 1}});
  if (rank > 0) add_doubling_scan(schedule, 1, {.recv = {rank - 1}, .dst = output(0)}, output(0));
  return schedule;
}

}  // namespace

Algorithm exscan_recursive_doubling() {
  return {.name = "recursive_doubling",
          .kind = CollectiveKind::Exscan,
          .summary = "shift by a rank, then the doubling scan (Hillis, Steele)",
          .supports = supports,
          .cost = cost,
          .build = build};
}

}  // namespace rondo
