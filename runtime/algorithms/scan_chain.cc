// SPDX-License-Identifier: Apache-2.0
// Scan along a chain: each rank adds its vector to its lower neighbour's prefix, keeps and forwards the sum.
//
//     0 ──► 1 ──► 2 ──► 3          x0, x0 + x1, (x0 + x1) + x2, ...
//
// n - 1 rounds, but each rank sends and receives the vector once, so over many tiles it is the fastest.
// (For applications of scans: G. Blelloch, Prefix Sums and Their Applications, CMU-CS-90-190, 1990.)
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo {
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

}  // namespace

Algorithm scan_chain() {
  return {.name = "chain",
          .kind = CollectiveKind::Scan,
          .summary = "from rank to rank, pipelined over the tiles",
          .supports = supports,
          .cost = cost,
          .build = build,
          .association = Association::RankOrder};
}

}  // namespace rondo
