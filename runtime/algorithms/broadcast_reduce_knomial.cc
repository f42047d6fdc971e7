// SPDX-License-Identifier: Apache-2.0
// Broadcast down, and reduction up, a k-nomial tree. Down it, a rank that has the vector sends it to the
// leaders of the other runs of its set of ranks:
//
//     radix 2:   0 ─► 4       then  0 ─► 2, 4 ─► 6       then  0 ─► 1, 2 ─► 3, 4 ─► 5, 6 ─► 7
//     radix 4:   0 ─► 2, 4, 6                            then  0 ─► 1, 2 ─► 3, 4 ─► 5, 6 ─► 7
//
// Up it, each rank folds its subtrees' vectors with its own. One Step per rank: partial folds are never
// written to memory.
//
//     radix 2:                              radix 4:
//     1 ─► 0 ◄─ 2 ◄─ 3                      1 ─► 0 ◄─ 2 ◄─ 3          subtrees are runs of consecutive
//          ▲                                     ▲ ▲                  ranks, so the fold is in rank order
//          4 ◄─ 5                                │ 4 ◄─ 5             for any root, and the operands need
//          ▲                                     6 ◄─ 7               not commute
//          6 ◄─ 7
//
//     rank 0 folds  ((x0 + x1) + x2..3) + x4..7         (((x0 + x1) + x2..3) + x4..5) + x6..7
//
// ceil(log_k n) rounds of the whole vector, k - 1 times each (knomial_tree.h draws the trees): a higher radix
// means fewer rounds but more messages. (R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective
// Communication Operations in MPICH, IJHPCA 2005.)
#include "algorithms/algorithm.h"
#include "knomial_tree.h"
#include "parts.h"

namespace rondo::broadcast_reduce_knomial {
namespace {

bool supports(const Shape& shape) { return fits(shape, 1); }

template <int kRadix>
Cost broadcast_cost(const Shape& shape) {
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
Cost reduce_cost(const Shape& shape) {
  const TreeSize size = knomial_size(shape, kRadix);
  const double children = size.max_children;
  return {.rounds = static_cast<double>(size.depth),
          .volume = static_cast<double>(size.turns),
          .steady = children,
          .folds = children,
          .received = children,
          .one_way = true,
          .mean = fold_each(shape)};
}

template <int kRadix>
Schedule build_broadcast(const Shape& shape, int rank) {
  const TreePlace place = knomial_tree(shape, rank, kRadix);
  Schedule schedule(shape, rank);
  if (rank == shape.root)
    schedule.add({.src = input(0), .dst = output(0), .send = child_ranks(place)});
  else
    schedule.add({.recv = {place.parent}, .dst = output(0), .send = child_ranks(place)});
  return schedule;
}

template <int kRadix>
Schedule build_reduce(const Shape& shape, int rank) {
  const TreePlace place = knomial_tree(shape, rank, kRadix);
  Schedule schedule(shape, rank);
  if (rank == shape.root)
    schedule.add({.recv = fold_order(place), .src = input(0), .dst = output(0), .finish = true});
  else
    schedule.add({.recv = fold_order(place), .src = input(0), .send = {place.parent}});
  return schedule;
}

template <int kRadix>
Algorithm broadcast(const char* name, const char* summary) {
  return {.name = name,
          .kind = CollectiveKind::Broadcast,
          .summary = summary,
          .supports = supports,
          .cost = broadcast_cost<kRadix>,
          .build = build_broadcast<kRadix>};
}

template <int kRadix>
Algorithm reduce(const char* name, const char* summary) {
  return {.name = name,
          .kind = CollectiveKind::Reduce,
          .summary = summary,
          .supports = supports,
          .cost = reduce_cost<kRadix>,
          .build = build_reduce<kRadix>};
}

}  // namespace

Algorithm broadcast_binomial() {
  return broadcast<kBinomial>("binomial", "down a binomial tree (Thakur, Rabenseifner, Gropp)");
}

Algorithm broadcast_knomial4() {
  return broadcast<kKnomial>("knomial4", "down a radix-4 tree: each round reaches four times as many ranks");
}

Algorithm reduce_binomial() {
  return reduce<kBinomial>("binomial", "up a binomial tree, in rank order (Thakur, Rabenseifner, Gropp)");
}

Algorithm reduce_knomial4() {
  return reduce<kKnomial>("knomial4",
                          "up a radix-4 tree, in rank order: each round folds three of four ranks");
}

}  // namespace rondo::broadcast_reduce_knomial
