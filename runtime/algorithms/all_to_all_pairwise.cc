// Pairwise all-to-all: in round i each rank sends to the rank i above it and receives from the rank i below.
//
//     round 1:  0 ─► 1 ─► 2 ─► 3 ─► 0        round 2:  0 ─► 2 ─► 0,  1 ─► 3 ─► 1        round 3:  0 ─► 3 ─► 2
//     ─► 1 ─► 0
//
// n - 1 rounds in step, each a permutation: no rank is ever sent two blocks at once. For long blocks and
// networks that suffer from incast. (Thakur, Rabenseifner, Gropp, IJHPCA 2005.)
#include "parts.h"
#include "rows.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) { return fits(shape, 2 * shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  const double volume = (n - 1) / n;
  // The user's blocks are cold; the memory that a block is in on its way was the last round's.
  return {.rounds = n - 1, .volume = volume, .warm = volume / 2};
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  schedule.add({.src = input(rank), .dst = output(rank)});
  for (int distance = 1; distance < shape.nranks; ++distance) {
    const int to = wrap(rank + distance, shape.nranks);
    const int from = wrap(rank - distance, shape.nranks);
    schedule.add({.src = input(to), .send = {to}});
    schedule.add({.recv = {from}, .dst = output(from)});
  }
  return schedule;
}

}  // namespace

Algorithm all_to_all_pairwise() {
  return {.name = "pairwise",
          .kind = CollectiveKind::AllToAll,
          .summary = "a permutation a round (Thakur, Rabenseifner, Gropp)",
          .supports = supports,
          .cost = cost,
          .build = build};
}

}  // namespace rondo
