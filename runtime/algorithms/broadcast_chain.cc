// SPDX-License-Identifier: Apache-2.0
// Broadcast along a chain: each rank stores the data it receives and forwards it at once.
//
//     root ──► root + 1 ──► root + 2 ──► ... ──► root - 1        tile 0 is at the third rank
//     tile 2      tile 1       tile 0                            while tile 2 leaves the root
//
// A vector of many tiles takes n - 2 tiles longer than a single transfer, so this is the broadcast for long
// vectors; each rank sends and receives the vector once. (J. Watts, R. van de Geijn, A Pipelined Broadcast
// for Multidimensional Meshes, Parallel Processing Letters 1995.)
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::broadcast_chain {
namespace {

bool supports(const Shape& shape) { return fits(shape, 1); }

Cost cost(const Shape& shape) {
  const double hops = shape.nranks - 1;
  return {.rounds = hops, .volume = hops, .steady = 1, .warm = hops, .mean = relayed_each(shape)};
}

Schedule build(const Shape& shape, int rank) {
  const int next = wrap(rank + 1, shape.nranks);
  const std::vector<int> onward = next == shape.root ? std::vector<int>{} : std::vector<int>{next};
  Schedule schedule(shape, rank);
  if (rank == shape.root)
    schedule.add({.src = input(0), .dst = output(0), .send = onward});
  else
    schedule.add({.recv = {wrap(rank - 1, shape.nranks)}, .dst = output(0), .send = onward});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "chain",
          .kind = CollectiveKind::Broadcast,
          .summary = "from rank to rank, pipelined over the tiles (Watts, van de Geijn)",
          .supports = supports,
          .cost = cost,
          .build = build};
}

}  // namespace rondo::broadcast_chain
