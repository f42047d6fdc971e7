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

/// Blocks for the same group stay within it.
Cost cost(const Shape& shape) {
  const double others = shape.nranks - shape.levels.outermost();
  return {.rounds = others > 0 ? 1.0 : 0.0, .volume = others / shape.nranks, .messages = others};
}

Cost inner_cost(const Shape& shape, int level) {
  const double others = shape.levels.size(level) - (level == 0 ? 1 : shape.levels.size(level - 1));
  return {.volume = others / shape.nranks, .messages = others};
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
          .inner_cost = inner_cost,
          .build = build,
          .rounds = 1};
}

}  // namespace rondo::all_to_all_direct
