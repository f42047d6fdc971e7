// SPDX-License-Identifier: Apache-2.0
// Van de Geijn's broadcast: a scatter down the binomial tree, then an all-gather by recursive doubling.
//
//     4 ranks:   scatter:      0 ─[2 3]─► 2        then 0 ─[1]─► 1, 2 ─[3]─► 3
//                distance 1:   0  ──► 1   2  ──► 3                 0 already has all, and 2 its whole half
//                distance 2:   0  ──► 2   1 ◄─► 3
//
// Twice a binomial tree's rounds, but no rank sends the vector more than about twice: for vectors too long
// for trees and too short to keep a chain busy. (M. Barnett, L. Shuler, R. van de Geijn, S. Gupta, D. Payne,
// J. Watts, Interprocessor Collective Communication Library, SHPCC 1994.)
#include "algorithms/algorithm.h"
#include "halving.h"
#include "parts.h"

namespace rondo::broadcast_scatter_allgather {
namespace {

bool supports(const Shape& shape) { return fits(shape, 2 * halving_steps(shape), shape.nranks); }

/// The last round of the scatter and the first of the all-gather coincide: leaders of two ranks send in both.
Cost cost(const Shape& shape) {
  if (shape.nranks == 1) return {};
  const double n = shape.nranks;
  return {.rounds = knomial_size(shape, kBinomial).depth + halving_rounds(shape) - 1,
          .volume = (n - 1) / n + exchanged_vectors(shape),
          .steady = 2 * (n - 1) / n,
          .mean = {.volume = (n - 1) / n, .messages = mean_exchanges(shape)}};
}

Schedule build(const Shape& shape, int rank) {
  const TreePlace place = knomial_tree(shape, rank, kBinomial);
  const bool is_root = rank == shape.root;
  Schedule schedule(shape, rank, shape.nranks);
  schedule.slot_chunks = max_exchanged(shape);
  if (!is_root)
    schedule.add({.recv = {place.parent}, .dst = output(place.own.first), .count = place.own.count});
  for (const Branch& child : place.children) {
    Move move{.src = output(child.first), .send = {child.rank}, .count = child.count};
    if (is_root) move.src = input(child.first), move.dst = output(child.first);
    schedule.add(move);
  }
  if (is_root) schedule.add({.src = input(rank), .dst = output(rank)});
  add_doubling(schedule, shape, Held::SubtreeChunks);
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "scatter_allgather",
          .kind = CollectiveKind::Broadcast,
          .summary = "scatter down a binomial tree, all-gather by recursive doubling (van de Geijn)",
          .supports = supports,
          .cost = cost,
          .cost_is_estimate = true,
          .build = build,
          .max_count = max_exchanged,
          .parts = [](const Shape& shape) { return shape.nranks; },
          .connects_up_and_down = true};
}

}  // namespace rondo::broadcast_scatter_allgather
