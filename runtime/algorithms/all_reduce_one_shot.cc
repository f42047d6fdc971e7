// SPDX-License-Identifier: Apache-2.0
// All-reduce in one shot: each rank sends its vector to every other rank, and folds all of them.
//
//     0 ──► 1,2,3     1 ──► 0,2,3     2 ──► 0,1,3     3 ──► 0,1,2
//     then, everywhere:  ((x0 + x1) + x2) + x3
//
// One round, and n - 1 vectors in and out of each rank: the best choice if only latency matters. The fold is
// in rank order at every rank, so all get the same bits. (The "all-to-all broadcast" of A. Grama, A. Gupta,
// G. Karypis, V. Kumar, Introduction to Parallel Computing, 2nd edition, 2003, chapter 4, with the sum
// computed by the receiver.)
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::all_reduce_one_shot {
namespace {

bool supports(const Shape& shape) { return fits(shape, 2); }

Cost cost(const Shape& shape) {
  const double others = shape.nranks - 1;
  return {.rounds = others > 0 ? 1.0 : 0.0, .volume = others, .messages = others, .folds = others};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  if (shape.nranks > 1) schedule.add({.src = input(0), .send = others_after(shape.nranks, rank)});
  schedule.add({.recv = all_ranks(shape.nranks), .src = input(0), .dst = output(0), .finish = true});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "one_shot",
          .kind = CollectiveKind::AllReduce,
          .summary = "every rank sends its vector to every other; each folds: one round",
          .supports = supports,
          .cost = cost,
          .build = build,
          .rounds = 1,
          .association = Association::OneFold,
          .connects_all = true};
}

}  // namespace rondo::all_reduce_one_shot
