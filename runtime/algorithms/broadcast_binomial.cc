// Broadcast down a binomial tree: whoever has the vector sends it to the leader of the other half of its
// ranks.
//
//     round 1:  0 ─► 4        round 2:  0 ─► 2, 4 ─► 6        round 3:  0 ─► 1, 2 ─► 3, 4 ─► 5, 6 ─► 7
//
// ceil(log2 n) rounds of the whole vector (halving_tree.h draws the tree). (R. Thakur, R. Rabenseifner, W.
// Gropp, Optimization of Collective Communication Operations in MPICH, IJHPCA 2005.)
#include "halving_tree.h"
#include "parts.h"
#include "rows.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) { return fits(shape, 1); }

Cost cost(const Shape& shape) {
  return {static_cast<double>(halving_depth(shape.nranks, shape.root)),
          static_cast<double>(ceil_log2(shape.nranks)),
          static_cast<double>(most_children(shape.nranks, shape.root))};
}

Schedule build(const Shape& shape, int rank) {
  const TreePlace place = halving_tree(shape.nranks, shape.root, rank);
  Schedule schedule(shape, rank);
  if (rank == shape.root)
    schedule.add({.src = input(0), .dst = output(0), .send = child_ranks(place)});
  else
    schedule.add({.recv = {place.parent}, .dst = output(0), .send = child_ranks(place)});
  return schedule;
}

}  // namespace

Algorithm broadcast_binomial() {
  return {.name = "binomial",
          .kind = CollectiveKind::Broadcast,
          .summary = "down a binomial tree (Thakur, Rabenseifner, Gropp)",
          .supports = supports,
          .cost = cost,
          .build = build};
}

}  // namespace rondo
