// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter by recursive halving: partners half the ranks apart exchange halves, then quarters, and so
// on.
//
//     4 ranks:   distance 2:   0 ─[2 3]─► 2,  2 ─[0 1]─► 0        0 and 1 keep blocks 0 1,
//                              1 ─[2 3]─► 3,  3 ─[0 1]─► 1        2 and 3 keep blocks 2 3
//                distance 1:   0 ─[1]─► 1,    1 ─[0]─► 0          each keeps its own
//
// log2 n rounds, and minimal volume for 2^k ranks (see halving.h for other n); for commutative reductions.
// (Rabenseifner, ICCS 2004.)
#include "algorithms/algorithm.h"
#include "halving.h"
#include "parts.h"

namespace rondo::reduce_scatter_recursive_halving {
namespace {

bool supports(const Shape& shape) { return shape.commutative && fits(shape, halving_steps(shape)); }

Cost cost(const Shape& shape) {
  return {.rounds = halving_rounds(shape),
          .volume = exchanged_vectors(shape),
          .mean = {.volume = (shape.nranks - 1.0) / shape.nranks, .messages = mean_exchanges(shape)}};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank, 1, shape.nranks > 2 ? shape.nranks : 0);
  schedule.slot_chunks = max_exchanged(shape);
  add_halving(schedule, shape, Buffer::Scratch, output(0));
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "recursive_halving",
          .kind = CollectiveKind::ReduceScatter,
          .summary = "partners n/2, n/4 ... apart exchange halves (Rabenseifner)",
          .supports = supports,
          .cost = cost,
          .cost_is_estimate = true,
          .build = build,
          .max_count = max_exchanged};
}

}  // namespace rondo::reduce_scatter_recursive_halving
