// SPDX-License-Identifier: Apache-2.0
// Linear gather and scatter: each rank sends its block to the root, or the root sends each rank its block.
//
//     1, 2, 3, ... n - 1 ──► root          root ──► 1, 2, 3, ... n - 1
//
// One round. Only the root and a block's owner need to know its length.
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::gather_scatter_linear {
namespace {

bool supports(const Shape& shape) { return fits(shape, shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  const double blocks = (n - 1) / n;  // sent per rank on average
  const bool gathers = shape.kind == CollectiveKind::Gather;
  return {.rounds = n > 1 ? 1.0 : 0.0,
          .volume = (n - 1) / n,
          .steady = (n - 1) / n,
          .messages = gathers ? 0 : n - 1,
          .received = gathers ? n - 1 : 0,
          .one_way = true,
          .mean = {.volume = blocks / n, .messages = blocks}};
}

Schedule build_gather(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  if (rank != shape.root) {
    schedule.add({.src = input(0), .send = {shape.root}});
    return schedule;
  }
  schedule.add({.src = input(0), .dst = output(rank)});
  for (int peer : others_after(shape.nranks, rank)) schedule.add({.recv = {peer}, .dst = output(peer)});
  return schedule;
}

Schedule build_scatter(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  if (rank != shape.root) {
    schedule.add({.recv = {shape.root}, .dst = output(0)});
    return schedule;
  }
  for (int peer : others_after(shape.nranks, rank)) schedule.add({.src = input(peer), .send = {peer}});
  schedule.add({.src = input(rank), .dst = output(0)});
  return schedule;
}

}  // namespace

Algorithm gather() {
  return {.name = "linear",
          .kind = CollectiveKind::Gather,
          .summary = "all ranks send to the root: one round",
          .supports = supports,
          .cost = cost,
          .build = build_gather,
          .rounds = 1,
          .connects_all = true};
}

Algorithm scatter() {
  return {.name = "linear",
          .kind = CollectiveKind::Scatter,
          .summary = "the root sends each rank its block: one round",
          .supports = supports,
          .cost = cost,
          .build = build_scatter,
          .rounds = 1,
          .connects_all = true};
}

}  // namespace rondo::gather_scatter_linear
