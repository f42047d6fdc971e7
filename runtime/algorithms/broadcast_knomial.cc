// SPDX-License-Identifier: Apache-2.0
// Broadcast down a k-nomial tree: a rank that has the vector sends it to the leaders of the other runs of its
// set of ranks.
//
//     radix 2:   0 ─► 4       then  0 ─► 2, 4 ─► 6       then  0 ─► 1, 2 ─► 3, 4 ─► 5, 6 ─► 7
//     radix 4:   0 ─► 2, 4, 6                            then  0 ─► 1, 2 ─► 3, 4 ─► 5, 6 ─► 7
//
// ceil(log_k n) rounds of the whole vector, k - 1 times each (knomial_tree.h draws the trees): a higher radix
// means fewer rounds but more messages. (R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective
// Communication Operations in MPICH, IJHPCA 2005.)
#include "algorithms/algorithm.h"
#include "knomial_tree.h"
#include "parts.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) { return fits(shape, 1); }

template <int kRadix>
Cost cost(const Shape& shape) {
  const TreeSize size = knomial_size(shape, kRadix);
  const double children = size.max_children;
  return {.rounds = static_cast<double>(size.depth),
          .volume = static_cast<double>(size.turns),
          .steady = children,
          .messages = children,
          .warm = static_cast<double>(size.turns),
          .one_way = true,
          .mean = warm_each(shape)};
}

template <int kRadix>
Schedule build(const Shape& shape, int rank) {
  const TreePlace place = knomial_tree(shape, rank, kRadix);
  Schedule schedule(shape, rank);
  if (rank == shape.root)
    schedule.add({.src = input(0), .dst = output(0), .send = child_ranks(place)});
  else
    schedule.add({.recv = {place.parent}, .dst = output(0), .send = child_ranks(place)});
  return schedule;
}

template <int kRadix>
Algorithm row(const char* name, const char* summary) {
  return {.name = name,
          .kind = CollectiveKind::Broadcast,
          .summary = summary,
          .supports = supports,
          .cost = cost<kRadix>,
          .build = build<kRadix>};
}

}  // namespace

Algorithm broadcast_binomial() {
  return row<kBinomial>("binomial", "down a binomial tree (Thakur, Rabenseifner, Gropp)");
}

Algorithm broadcast_knomial4() {
  return row<kKnomial>("knomial4", "down a radix-4 tree: each round reaches four times as many ranks");
}

}  // namespace rondo
