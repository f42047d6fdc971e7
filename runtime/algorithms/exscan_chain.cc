// SPDX-License-Identifier: Apache-2.0
// Exclusive scan along a chain. Each vector first moves one rank up; then it is the scan of ranks 1 to n - 1.
//
//     shift:   0 ──x0─► 1 ──x1─► 2 ──x2─► 3
//     scan:             1 ──x0─► 2 ──x0+x1─► 3          rank 3:  (x0 + x1) + x2
//
// A Step folds received data, not two buffers of its own, so it cannot derive both the prefix that it
// forwards and the one that it keeps from one message: the shift gives each rank the operand that it lacks.
// It does not lengthen the critical path, since all ranks shift at once. Rank 0's output is never written.
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) { return fits(shape, 3); }

Cost cost(const Shape& shape) {
  const double hops = shape.nranks - 1;
  return {hops, hops, shape.nranks > 2 ? 2.0 : 1.0};
}

Schedule build(const Shape& shape, int rank) {
  const std::vector<int> next = rank + 1 < shape.nranks ? std::vector<int>{rank + 1} : std::vector<int>{};
  Schedule schedule(shape, rank);
  if (!next.empty()) schedule.add({.src = input(0), .send = next});
  if (rank == 1) schedule.add({.recv = {0}, .dst = output(0), .send = next});
  if (rank > 1) {
    schedule.add({.recv = {rank - 1}, .dst = output(0)});
    schedule.add({.recv = {rank - 1, rank}, .src = output(0), .dst = output(0), .send = next});
  }
  return schedule;
}

}  // namespace

Algorithm exscan_chain() {
  return {.name = "chain",
          .kind = CollectiveKind::Exscan,
          .summary = "shift by a rank, then a scan from rank to rank",
          .supports = supports,
          .cost = cost,
          .build = build,
          .association = Association::RankOrder};
}

}  // namespace rondo
