// Linear scatter: the root sends everybody its block.
//
//     root ──► 1, 2, 3, ... n - 1
//
// One round. Only the root and a block's owner need to know its length.
#include "parts.h"
#include "rows.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) { return fits(shape, shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  return {n > 1 ? 1.0 : 0.0, (n - 1) / n, (n - 1) / n, n - 1};
}

Schedule build(const Shape& shape, int rank) {
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

Algorithm scatter_linear() {
  return {.name = "linear",
          .kind = CollectiveKind::Scatter,
          .summary = "the root sends everybody its block: one round",
          .supports = supports,
          .cost = cost,
          .build = build,
          .rounds = 1};
}

}  // namespace rondo
