// SPDX-License-Identifier: Apache-2.0
// Reduction along a chain: each rank adds its own vector to the one it receives and forwards the sum.
//
//     commutative:      root + 1 ──► root + 2 ──► ... ──► root - 1 ──► root
//     otherwise:        0 ──► 1 ──► ... ──► root ◄── ... ◄── n - 2 ◄── n - 1
//                       x0, x0 + x1, ...                 x(n-2) + x(n-1), x(n-1)
//
// For long vectors: over many tiles each rank sends and receives the vector once (in the second form, which
// keeps rank order, the root receives two). The reverse of the broadcast chain.
#include <algorithm>

#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::reduce_chain {
namespace {

bool supports(const Shape& shape) { return fits(shape, 1); }

Cost cost(const Shape& shape) {
  const int below = shape.root;
  const int above = shape.nranks - 1 - shape.root;
  const double hops = shape.nranks - 1;
  if (shape.nranks == 1) return {};
  CpuWork mean = fold_each(shape);
  mean.warm = relayed_each(shape).warm;
  if (shape.commutative)
    return {.rounds = hops, .volume = hops, .steady = 1, .folds = 1, .warm = hops, .mean = mean};
  const double rounds = std::max(below, above);
  const double meeting = below == above && below > 0 ? 1 : 0;  // both sums arrive at once, at one port
  const double arms = below > 0 && above > 0 ? 2 : 1;
  return {.rounds = rounds,
          .volume = rounds + meeting,
          .steady = arms,
          .folds = arms,
          .warm = rounds + meeting,
          .mean = mean};
}

/// The vector's sources and destinations; the former include the own rank at its place in the fold.
struct ChainPeers {
  std::vector<int> fold;
  int next = 0;
};

ChainPeers around(const Shape& shape, int rank) {
  const int previous = wrap(rank - 1, shape.nranks);
  if (previous == shape.root) return {{rank}, wrap(rank + 1, shape.nranks)};
  return {{previous, rank}, wrap(rank + 1, shape.nranks)};
}

ChainPeers from_both_ends(const Shape& shape, int rank) {
  ChainPeers links{{}, rank < shape.root ? rank + 1 : rank - 1};
  if (rank <= shape.root && rank > 0) links.fold.push_back(rank - 1);
  links.fold.push_back(rank);
  if (rank >= shape.root && rank < shape.nranks - 1) links.fold.push_back(rank + 1);
  return links;
}

Schedule build(const Shape& shape, int rank) {
  const ChainPeers links = shape.commutative ? around(shape, rank) : from_both_ends(shape, rank);
  Schedule schedule(shape, rank);
  if (rank == shape.root)
    schedule.add({.recv = links.fold, .src = input(0), .dst = output(0), .finish = true});
  else
    schedule.add({.recv = links.fold, .src = input(0), .send = {links.next}});
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "chain",
          .kind = CollectiveKind::Reduce,
          .summary = "from rank to rank, pipelined over the tiles",
          .supports = supports,
          .cost = cost,
          .build = build};
}

}  // namespace rondo::reduce_chain
