// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's reduction: a reduce-scatter by recursive halving, then a gather up the binomial tree.
//
//     4 ranks:   distance 2:   0 ◄─► 2   1 ◄─► 3        halves of the vector, folded on arrival
//                distance 1:   0 ◄─► 1   2 ◄─► 3        quarters; rank r ends with the fold of part r
//                gather:       0 ◄── 1   2 ◄── 3        then 0 ◄─[2 3]── 2
//
// Twice a binomial tree's rounds, but never the whole vector at once: for medium and long vectors, and
// commutative reductions. (R. Rabenseifner, Optimization of Collective Reduction Operations, ICCS 2004.)
#include "algorithms/algorithm.h"
#include "halving.h"
#include "parts.h"

namespace rondo::reduce_halving_gather {
namespace {

bool supports(const Shape& shape) {
  return shape.commutative && fits(shape, 2 * halving_steps(shape), shape.nranks);
}

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  const double vectors = exchanged_vectors(shape);
  return {.rounds = halving_rounds(shape) + knomial_size(shape, kBinomial).depth,
          .volume = vectors + (n - 1) / n,
          .folds = vectors,
          .mean = {.volume = (n - 1) / n + mean_subtree_volume(shape, kBinomial),
                   .messages = mean_exchanges(shape) + (n - 1) / n,
                   .folds = (n - 1) / n}};
}

Schedule build(const Shape& shape, int rank) {
  const bool is_root = rank == shape.root;
  const Buffer hold = is_root ? Buffer::Output : Buffer::Scratch;
  Schedule schedule(shape, rank, shape.nranks, is_root ? 0 : shape.nranks);
  schedule.slot_chunks = max_exchanged(shape);
  add_halving(schedule, shape, hold, {hold, rank});
  const TreePlace place = knomial_tree(shape, rank, kBinomial);
  for (auto child = place.children.rbegin(); child != place.children.rend(); ++child)
    schedule.add({.recv = {child->rank}, .dst = {hold, child->first}, .count = child->count});
  if (!is_root)
    schedule.add({.src = {hold, place.own.first}, .send = {place.parent}, .count = place.own.count});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "halving_gather",
          .kind = CollectiveKind::Reduce,
          .summary = "reduce-scatter by recursive halving, gather up a binomial tree (Rabenseifner)",
          .supports = supports,
          .cost = cost,
          .cost_is_estimate = true,
          .build = build,
          .max_count = max_exchanged,
          .parts = [](const Shape& shape) { return shape.nranks; },
          .connects_up_and_down = true};
}

}  // namespace rondo::reduce_halving_gather
