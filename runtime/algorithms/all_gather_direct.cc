// SPDX-License-Identifier: Apache-2.0
// Direct all-gather: each rank sends its block to every other rank.
//
//     0 ──► 1,2,3     1 ──► 2,3,0     2 ──► 3,0,1     3 ──► 0,1,2
//
// One round and minimal volume, with n - 1 connections per rank.
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::all_gather_direct {
namespace {

bool supports(const Shape& shape) { return fits(shape, shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  return {.rounds = n > 1 ? 1.0 : 0.0, .volume = (n - 1) / n, .messages = n - 1};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  schedule.add({.src = input(0), .dst = output(rank), .send = others_after(shape.nranks, rank)});
  for (int distance = 1; distance < shape.nranks; ++distance) {
    const int peer = wrap(rank - distance, shape.nranks);
    schedule.add({.recv = {peer}, .dst = output(peer)});
  }
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "direct",
          .kind = CollectiveKind::AllGather,
          .summary = "every rank sends its block to every other: one round",
          .supports = supports,
          .cost = cost,
          .build = build,
          .rounds = 1,
          .connects_all = true};
}

}  // namespace rondo::all_gather_direct
