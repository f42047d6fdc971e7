// SPDX-License-Identifier: Apache-2.0
// Reduction up a k-nomial tree: each rank folds its subtrees' vectors with its own.
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
// ceil(log_k n) rounds of the whole vector, k - 1 times each (knomial_tree.h draws the trees). One Step per
// rank: partial folds are never written to memory. (Thakur, Rabenseifner, Gropp, IJHPCA 2005.)
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
          .folds = children,
          .received = children,
          .one_way = true,
          .mean = fold_each(shape)};
}

template <int kRadix>
Schedule build(const Shape& shape, int rank) {
  const TreePlace place = knomial_tree(shape, rank, kRadix);
  Schedule schedule(shape, rank);
  if (rank == shape.root)
    schedule.add({.recv = fold_order(place), .src = input(0), .dst = output(0), .finish = true});
  else
    schedule.add({.recv = fold_order(place), .src = input(0), .send = {place.parent}});
  return schedule;
}

template <int kRadix>
Algorithm row(const char* name, const char* summary) {
  return {.name = name,
          .kind = CollectiveKind::Reduce,
          .summary = summary,
          .supports = supports,
          .cost = cost<kRadix>,
          .build = build<kRadix>};
}

}  // namespace

Algorithm reduce_binomial() {
  return row<kBinomial>("binomial", "up a binomial tree, in rank order (Thakur, Rabenseifner, Gropp)");
}

Algorithm reduce_knomial4() {
  return row<kKnomial>("knomial4", "up a radix-4 tree, in rank order: each round folds three of four ranks");
}

}  // namespace rondo
