// SPDX-License-Identifier: Apache-2.0
// Flat reduction: all ranks send to the root, which folds the vectors in rank order.
//
//     1, 2, 3, ... n - 1 ──► root: (((x0 + x1) + x2) + x3) ...
//
// One round, n - 1 vectors into the root.
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::reduce_flat {
namespace {

bool supports(const Shape& shape) { return fits(shape, 1); }

Cost cost(const Shape& shape) {
  const double vectors = shape.nranks - 1;
  return {.rounds = shape.nranks > 1 ? 1.0 : 0.0,
          .volume = vectors,
          .steady = vectors,
          .folds = vectors,
          .received = vectors,
          .one_way = true,
          .mean = fold_each(shape)};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  if (rank == shape.root)
    schedule.add({.recv = all_ranks(shape.nranks), .src = input(0), .dst = output(0), .finish = true});
  else
    schedule.add({.src = input(0), .send = {shape.root}});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "flat",
          .kind = CollectiveKind::Reduce,
          .summary = "all ranks send to the root, which folds: one round",
          .supports = supports,
          .cost = cost,
          .build = build,
          .rounds = 1,
          .association = Association::OneFold,
          .connects_all = true};
}

}  // namespace rondo::reduce_flat
