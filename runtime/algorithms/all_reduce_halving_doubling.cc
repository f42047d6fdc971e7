// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's all-reduce: a reduce-scatter by recursive halving, then an all-gather by recursive doubling.
//
//     4 ranks:   distance 2:   0 ◄─► 2   1 ◄─► 3        halves of the vector, folded on arrival
//                distance 1:   0 ◄─► 1   2 ◄─► 3        quarters; rank r ends with the fold of part r
//                distance 1:   0 ◄─► 1   2 ◄─► 3        and back: quarters
//                distance 2:   0 ◄─► 2   1 ◄─► 3        halves
//
// 2 log2 n rounds and, for 2^k ranks, minimal volume (see halving.h for other n); for commutative reductions.
// For vectors too long for recursive doubling, and too many ranks for all-to-all exchanges. (R. Rabenseifner,
// Optimization of Collective Reduction Operations, ICCS 2004.)
#include "algorithms/algorithm.h"
#include "halving.h"
#include "parts.h"

namespace rondo::all_reduce_halving_doubling {
namespace {

bool supports(const Shape& shape) {
  return shape.commutative && fits(shape, 2 * halving_steps(shape), shape.nranks);
}

Cost cost(const Shape& shape) {
  const double vectors = exchanged_vectors(shape);
  const double others = (shape.nranks - 1.0) / shape.nranks;  // n - 1 additions for each of n parts
  return {.rounds = 2 * halving_rounds(shape),
          .volume = 2 * vectors,
          .folds = vectors,
          .mean = {.volume = 2 * others, .messages = 2 * mean_exchanges(shape), .folds = others}};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank, shape.nranks);
  schedule.slot_chunks = max_exchanged(shape);
  add_halving(schedule, shape, Buffer::Output, output(rank));
  add_doubling(schedule, shape, Held::OwnChunk);
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "halving_doubling",
          .kind = CollectiveKind::AllReduce,
          .summary = "reduce-scatter by recursive halving, all-gather by recursive doubling (Rabenseifner)",
          .supports = supports,
          .cost = cost,
          .cost_is_estimate = true,
          .build = build,
          .max_count = max_exchanged,
          .parts = [](const Shape& shape) { return shape.nranks; }};
}

}  // namespace rondo::all_reduce_halving_doubling
