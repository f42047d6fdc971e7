// SPDX-License-Identifier: Apache-2.0
// An algorithm for tests of what the table's do not use: folds of Scratch, waits for the tile before, and
// Steps that only wait.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace rondo {

/// All-reduce by two lanes: the first sends part p of the vector to rank p, and keeps what comes for the own
/// part in Scratch, once the tile before has been folded from there. The second waits for it, folds in rank
/// order and sends the result to all.
///
///     lane 0   input[p] ──► p    recv p -> scratch
///     lane 1                                      wait    fold scratch -> output[own] ──► all    recv p
inline Algorithm folded_scratch() {
  const auto build = [](const Shape& shape, int rank) {
    const int n = shape.nranks;
    const auto place = [&](int peer) { return peer * n + rank; };  // as long as the own part
    Schedule schedule(shape, rank, n, n * n);
    std::vector<int> others, operands;
    for (int distance = 1; distance < n; ++distance) others.push_back((rank + distance) % n);
    for (int peer = 0; peer < n; ++peer)
      operands.push_back(peer == rank ? rank : scratch_operand(place(peer)));
    for (const int peer : others) schedule.add(0, {.src = input(peer), .send = {peer}});
    int last = -1;
    for (const int peer : others)
      last = schedule.add(0, {.recv = {peer},
                              .dst = scratch(place(peer)),
                              .after_lane = 1,
                              .after_step = last < 0 ? 1 : 0,
                              .after_tile_before = true});
    if (last >= 0) schedule.add(1, {.after_lane = 0, .after_step = last});
    schedule.add(1, {.recv = operands, .src = input(rank), .dst = output(rank), .send = {}, .finish = true});
    if (!others.empty()) schedule.add(1, {.src = output(rank), .send = others});
    for (auto peer = others.rbegin(); peer != others.rend(); ++peer)
      schedule.add(1, {.recv = {*peer}, .dst = output(*peer)});
    return schedule;
  };
  return {.name = "folded_scratch",
          .kind = CollectiveKind::AllReduce,
          .supports = [](const Shape&) { return true; },
          .cost = [](const Shape&) { return Cost{}; },
          .build = build,
          .parts = [](const Shape& shape) { return shape.nranks; },
          .association = Association::OneFold};
}

}  // namespace rondo
