// SPDX-License-Identifier: Apache-2.0
// Linear gather: each rank sends its block to the root.
//
//     1, 2, 3, ... n - 1 ──► root
//
// One round. Only the root and a block's owner need to know its length.
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) { return fits(shape, shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  const double blocks = (n - 1) / n;  // sent per rank on average
  return {.rounds = n > 1 ? 1.0 : 0.0,
          .volume = (n - 1) / n,
          .steady = (n - 1) / n,
          .received = n - 1,
          .one_way = true,
          .mean = {.volume = blocks / n, .messages = blocks}};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  if (rank != shape.root) {
    schedule.add({.src = input(0), .send = {shape.root}});
    return schedule;
  }
  schedule.add({.src = input(0), .dst = output(rank)});
  for (int peer : others_after(shape.nranks, rank)) schedule.add({.recv = {peer}, .dst = output(peer)});
  return schedule;
}

}  // namespace

Algorithm gather_linear() {
  return {.name = "linear",
          .kind = CollectiveKind::Gather,
          .summary = "all ranks send to the root: one round",
          .supports = supports,
          .cost = cost,
          .build = build,
          .rounds = 1};
}

}  // namespace rondo
