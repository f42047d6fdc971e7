// Flat barrier: each rank tells every other that it has come.
//
//     0 ──► 1,2,3     1 ──► 0,2,3     2 ──► 0,1,3     3 ──► 0,1,2
//
// One round, but n - 1 empty messages a rank, which the costs of algorithms do not count: for ranks that see
// the same memory, so that telling all of them is one write.
#include "parts.h"
#include "rows.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) { return fits(shape, shape.nranks); }

Cost cost(const Shape& shape) {
  return {.rounds = shape.nranks > 1 ? 1.0 : 0.0, .messages = shape.nranks - 1.0};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  if (shape.nranks == 1) return schedule;
  schedule.add({.src = input(0), .send = others_after(shape.nranks, rank)});
  for (int peer : others_after(shape.nranks, rank)) schedule.add({.recv = {peer}, .dst = output(0)});
  return schedule;
}

}  // namespace

Algorithm barrier_flat() {
  return {.name = "flat",
          .kind = CollectiveKind::Barrier,
          .summary = "everybody tells everybody: one round",
          .supports = supports,
          .cost = cost,
          .build = build,
          .rounds = 1,
          .for_shared_memory = true};
}

}  // namespace rondo
