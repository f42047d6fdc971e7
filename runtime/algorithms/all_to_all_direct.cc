// SPDX-License-Identifier: Apache-2.0
// Direct all-to-all: each rank first sends all its blocks, the next rank's first, then receives all.
//
//     rank r:  send r+1, send r+2, ... send r-1      recv r-1, recv r-2, ... recv r+1
//
// One round: no rank waits before it sends. The ranks' i-th sends all have different destinations.
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::all_to_all_direct {
namespace {

bool supports(const Shape& shape) { return fits(shape, 2 * shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  return {.rounds = n > 1 ? 1.0 : 0.0, .volume = (n - 1) / n, .messages = n - 1};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  for (int peer : others_after(shape.nranks, rank)) schedule.add({.src = input(peer), .send = {peer}});
  schedule.add({.src = input(rank), .dst = output(rank)});
  for (int distance = 1; distance < shape.nranks; ++distance) {
    const int peer = wrap(rank - distance, shape.nranks);
    schedule.add({.recv = {peer}, .dst = output(peer)});
  }
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "direct",
          .kind = CollectiveKind::AllToAll,
          .summary = "all blocks sent, then all received: one round",
          .supports = supports,
          .cost = cost,
          .build = build,
          .rounds = 1};
}

}  // namespace rondo::all_to_all_direct
