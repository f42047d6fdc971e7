// SPDX-License-Identifier: Apache-2.0
// Pairwise all-to-all: in round i each rank exchanges blocks with the ranks i above and i below it.
//
//     round 1:  0 <-> 1 <-> 2 <-> 3 <-> 4 <-> 0          round 2:  0 <-> 2 <-> 4 <-> 1 <-> 3 <-> 0
//
// n / 2 rounds in lockstep, each of two permutations: no rank is sent more than two blocks at once. For long
// blocks and networks that suffer from incast. The block for a rank is sent before the block from it is
// stored, so the two may share memory. (After Thakur, Rabenseifner, Gropp, IJHPCA 2005, who use one
// permutation per round.)
#include <cmath>

#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::all_to_all_pairwise {
namespace {

bool supports(const Shape& shape) { return fits(shape, 2 * shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  const double volume = (n - 1) / n;
  // The user's blocks are cold; the memory that a block passes through was used in the last round.
  return {.rounds = std::floor(n / 2), .volume = volume, .warm = volume / 2};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  schedule.add({.src = input(rank), .dst = output(rank)});
  for (int distance = 1; distance <= shape.nranks / 2; ++distance) {
    const int above = wrap(rank + distance, shape.nranks);
    const int below = wrap(rank - distance, shape.nranks);
    schedule.add({.src = input(above), .send = {above}});
    if (above != below) schedule.add({.src = input(below), .send = {below}});
    schedule.add({.recv = {below}, .dst = output(below)});
    if (above != below) schedule.add({.recv = {above}, .dst = output(above)});
  }
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "pairwise",
          .kind = CollectiveKind::AllToAll,
          .summary = "two permutations per round (after Thakur, Rabenseifner, Gropp)",
          .supports = supports,
          .cost = cost,
          .build = build};
}

}  // namespace rondo::all_to_all_pairwise
