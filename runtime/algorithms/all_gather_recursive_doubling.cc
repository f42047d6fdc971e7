// SPDX-License-Identifier: Apache-2.0
// All-gather by recursive doubling: partners at distance 1, 2, 4 ... exchange all the blocks they have.
//
//     round 1:  0 ◄─► 1   2 ◄─► 3        each has 2 blocks, then
//     round 2:  0 ◄─► 2   1 ◄─► 3        each has 4
//
// log2 n rounds, and minimal volume for 2^k ranks (see halving.h for other n). (Thakur, Rabenseifner, Gropp,
// IJHPCA 2005.)
#include "algorithms/algorithm.h"
#include "halving.h"
#include "parts.h"

namespace rondo::all_gather_recursive_doubling {
namespace {

bool supports(const Shape& shape) { return fits(shape, halving_steps(shape)); }

Cost cost(const Shape& shape) {
  return {.rounds = halving_rounds(shape),
          .volume = exchanged_vectors(shape),
          .mean = {.volume = (shape.nranks - 1.0) / shape.nranks, .messages = mean_exchanges(shape)}};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  schedule.slot_chunks = max_exchanged(shape);
  schedule.add({.src = input(0), .dst = output(rank)});
  add_doubling(schedule, shape, Held::OwnChunk);
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "recursive_doubling",
          .kind = CollectiveKind::AllGather,
          .summary = "partners at distance 1, 2, 4 exchange what they have (Thakur, Rabenseifner, Gropp)",
          .supports = supports,
          .cost = cost,
          .cost_is_estimate = true,
          .build = build,
          .max_count = max_exchanged};
}

}  // namespace rondo::all_gather_recursive_doubling
