// SPDX-License-Identifier: Apache-2.0
// Scans along a chain: each rank adds its vector to its lower neighbour's prefix, keeps and forwards the sum.
//
//     0 ──► 1 ──► 2 ──► 3          x0, x0 + x1, (x0 + x1) + x2, ...
//
// n - 1 rounds, but each rank sends and receives the vector once, so over many tiles it is the fastest.
// (For applications of scans: G. Blelloch, Prefix Sums and Their Applications, CMU-CS-90-190, 1990.)
//
// The exclusive scan first moves each vector one rank up; then it is the scan of ranks 1 to n - 1.
//
//     shift:   0 ──x0─► 1 ──x1─► 2 ──x2─► 3
//     scan:             1 ──x0─► 2 ──x0+x1─► 3          rank 3:  (x0 + x1) + x2
//
// A Step folds received data, not two buffers of its own, so it cannot derive both the prefix that it
// forwards and the one that it keeps from one message: the shift gives each rank the operand that it lacks.
// It does not lengthen the critical path, since all ranks shift at once. Rank 0's output of the exclusive
// scan is never written.
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::scan_chain {
namespace {

bool supports(const Shape& shape) { return fits(shape, 1); }

Cost cost(const Shape& shape) {
  const double hops = shape.nranks - 1;
  return {hops, hops, 1};
}

Schedule build(const Shape& shape, int rank) {
  Move move{.recv = {rank}, .src = input(0), .dst = output(0)};
  if (rank > 0) move.recv.insert(move.recv.begin(), rank - 1);
  if (rank + 1 < shape.nranks) move.send = {rank + 1};
  Schedule schedule(shape, rank);
  schedule.add(move);
  return schedule;
}

bool supports_exclusive(const Shape& shape) { return fits(shape, 3); }

Cost exclusive_cost(const Shape& shape) {
  const double hops = shape.nranks - 1;
  return {hops, hops, shape.nranks > 2 ? 2.0 : 1.0};
}

Schedule build_exclusive(const Shape& shape, int rank) {
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

Algorithm scan() {
  return {.name = "chain",
          .kind = CollectiveKind::Scan,
          .summary = "from rank to rank, pipelined over the tiles",
          .supports = supports,
          .cost = cost,
          .build = build,
          .association = Association::RankOrder};
}

Algorithm exscan() {
  return {.name = "chain",
          .kind = CollectiveKind::Exscan,
          .summary = "shift by a rank, then a scan from rank to rank",
          .supports = supports_exclusive,
          .cost = exclusive_cost,
          .build = build_exclusive,
          .association = Association::RankOrder};
}

}  // namespace rondo::scan_chain
