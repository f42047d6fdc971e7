// Reduction up a binomial tree: each rank folds what its subtrees send with its own vector.
//
//     1 ─► 0 ◄─ 2 ◄─ 3              rank 0 folds  ((x0 + x1) + x2..3) + x4..7
//          ▲                        subtrees are runs of consecutive ranks, so the fold is in rank order
//          4 ◄─ 5                   for any root, and the operands need not commute
//          ▲
//          6 ◄─ 7
//
// ceil(log2 n) rounds of the whole vector (halving_tree.h draws the tree). One Step a rank: what it sends on
// is never written to memory. (Thakur, Rabenseifner, Gropp, IJHPCA 2005.)
#include "halving_tree.h"
#include "parts.h"
#include "rows.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) { return fits(shape, 1); }

Cost cost(const Shape& shape) {
  const double children = most_children(shape.nranks, shape.root);
  return {.rounds = static_cast<double>(halving_depth(shape.nranks, shape.root)),
          .volume = static_cast<double>(ceil_log2(shape.nranks)),
          .steady = children,
          .folds = children};
}

Schedule build(const Shape& shape, int rank) {
  const TreePlace place = halving_tree(shape.nranks, shape.root, rank);
  Schedule schedule(shape, rank);
  if (rank == shape.root)
    schedule.add({.recv = fold_order(place), .src = input(0), .dst = output(0), .finish = true});
  else
    schedule.add({.recv = fold_order(place), .src = input(0), .send = {place.parent}});
  return schedule;
}

}  // namespace

Algorithm reduce_binomial() {
  return {.name = "binomial",
          .kind = CollectiveKind::Reduce,
          .summary = "up a binomial tree, in rank order (Thakur, Rabenseifner, Gropp)",
          .supports = supports,
          .cost = cost,
          .build = build};
}

}  // namespace rondo
