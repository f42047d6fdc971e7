// SPDX-License-Identifier: Apache-2.0
// Scan by recursive doubling: in round k each rank adds the fold of the 2^k ranks below those it already has.
//
//     distance 1:   0 ─► 1 ─► 2 ─► 3 ─► 4          r holds the fold of r-1 .. r
//     distance 2:   0 ─► 2   1 ─► 3   2 ─► 4       r-3 .. r
//     distance 4:   0 ─► 4                         r-7 .. r
//
// ceil(log2 n) rounds of the whole vector, for short vectors. Runs of consecutive ranks are joined, so the
// fold is in rank order. (W. D. Hillis, G. L. Steele, Data Parallel Algorithms, CACM 1986.)
#include "algorithms/algorithm.h"
#include "doubling_scan.h"
#include "parts.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) { return fits(shape, ceil_log2(shape.nranks) + 1); }

Cost cost(const Shape& shape) {
  const double vectors = ceil_log2(shape.nranks);
  return {static_cast<double>(floor_log2(shape.nranks)), vectors, vectors};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  add_doubling_scan(schedule, 0, {.src = input(0)}, input(0));
  return schedule;
}

}  // namespace

Algorithm scan_recursive_doubling() {
  return {.name = "recursive_doubling",
          .kind = CollectiveKind::Scan,
          .summary = "add the fold of 1, 2, 4 ... ranks below (Hillis, Steele)",
          .supports = supports,
          .cost = cost,
          .build = build};
}

}  // namespace rondo
