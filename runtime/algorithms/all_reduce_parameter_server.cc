// SPDX-License-Identifier: Apache-2.0
// Parameter server: rank 0 gathers and folds all vectors, then sends the result to all ranks.
//
//     1 ──┐              ┌──► 1
//     2 ──┼──► 0 (fold) ─┼──► 2
//     3 ──┘              └──► 3
//
// Two rounds, but the server's links carry 2 (n - 1) vectors: the baseline for the other algorithms. (M. Li
// et al., Scaling Distributed Machine Learning with the Parameter Server, OSDI 2014.)
#include <algorithm>

#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::all_reduce_parameter_server {
namespace {

bool supports(const Shape& shape) { return fits(shape, 2); }

Cost cost(const Shape& shape) {
  const double others = shape.nranks - 1;
  const double each = others / shape.nranks;
  return {.rounds = others > 0 ? 2.0 : 0.0,
          .volume = 2 * others,
          .steady = std::max(2.0, 1.25 * others),
          .messages = others,
          .folds = others,
          .warm = others,
          .mean = {.volume = 2 * each, .messages = 2 * each, .folds = each}};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  if (rank == 0) {
    schedule.add({.recv = all_ranks(shape.nranks),
                  .src = input(0),
                  .dst = output(0),
                  .send = others_after(shape.nranks, 0),
                  .finish = true});
  } else {
    schedule.add({.src = input(0), .send = {0}});
    schedule.add({.recv = {0}, .dst = output(0)});
  }
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "parameter_server",
          .kind = CollectiveKind::AllReduce,
          .summary = "rank 0 folds all vectors and sends the result to all (Li)",
          .supports = supports,
          .cost = cost,
          .build = build,
          .association = Association::OneFold,
          .connects_all = true};
}

}  // namespace rondo::all_reduce_parameter_server
