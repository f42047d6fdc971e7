// SPDX-License-Identifier: Apache-2.0
// Gather up, and scatter down, a k-nomial tree: the blocks of a subtree travel as one message between its
// leader and its parent.
//
//     radix 2, gather:   1 ─► 0 ◄─ 2 ◄─ 3      a subtree is a run of consecutive ranks (knomial_tree.h), so
//                             ▲                its blocks are contiguous for any root
//                             4 ◄─ 5
//                             ▲
//                             6 ◄─ 7
//
//     scatter:   0 ─► 4 (blocks 4..7), 2 (2..3), 1        4 ─► 6 (6..7), 5        2 ─► 3        6 ─► 7
//
// (k - 1) log_k n messages at the root instead of n - 1, for short blocks. Intermediate ranks must know the
// lengths, so there is no varying form. (Thakur, Rabenseifner, Gropp, IJHPCA 2005.)
#include <utility>

#include "algorithms/algorithm.h"
#include "knomial_tree.h"
#include "parts.h"

namespace rondo::gather_scatter_knomial {
namespace {

template <int kRadix>
Cost cost(const Shape& shape) {
  Cost cost = subtrees_cost(shape, kRadix);
  if (shape.kind == CollectiveKind::Gather) std::swap(cost.messages, cost.received);
  return cost;
}

template <int kRadix>
int max_count(const Shape& shape) {
  return max_subtree_blocks(shape, kRadix);
}

template <int kRadix>
Schedule build(const Shape& shape, int rank) {
  const bool gathers = shape.kind == CollectiveKind::Gather;
  const TreePlace place = knomial_tree(shape, rank, kRadix);
  const bool is_root = rank == shape.root;
  const bool is_leaf = place.children.empty();
  Schedule schedule(shape, rank, 1, is_root || is_leaf ? 0 : place.own.count);
  schedule.slot_chunks = max_count<kRadix>(shape);
  if (is_leaf && !is_root) {
    schedule.add(gathers ? Move{.src = input(0), .send = {place.parent}}
                         : Move{.recv = {place.parent}, .dst = output(0)});
    return schedule;
  }
  const auto place_of = [&](int block) {
    if (!is_root) return scratch(block - place.own.first);
    return gathers ? output(block) : input(block);
  };
  if (gathers) {
    schedule.add({.src = input(0), .dst = place_of(rank)});
    for (auto child = place.children.rbegin(); child != place.children.rend(); ++child)
      schedule.add({.recv = {child->rank}, .dst = place_of(child->first), .count = child->count});
    if (!is_root) schedule.add({.src = scratch(0), .send = {place.parent}, .count = place.own.count});
    return schedule;
  }
  if (!is_root) schedule.add({.recv = {place.parent}, .dst = scratch(0), .count = place.own.count});
  for (const Branch& child : place.children)
    schedule.add({.src = place_of(child.first), .send = {child.rank}, .count = child.count});
  schedule.add({.src = place_of(rank), .dst = output(0)});
  return schedule;
}

template <int kRadix>
Algorithm row(CollectiveKind kind, const char* name, const char* summary) {
  return {.name = name,
          .kind = kind,
          .summary = summary,
          .supports = supports_subtrees,
          .cost = cost<kRadix>,
          .cost_is_estimate = true,
          .build = build<kRadix>,
          .max_count = max_count<kRadix>};
}

}  // namespace

Algorithm gather_binomial() {
  return row<kBinomial>(CollectiveKind::Gather, "binomial",
                        "up a binomial tree, one message per subtree (Thakur, Rabenseifner, Gropp)");
}

Algorithm gather_knomial4() {
  return row<kKnomial>(CollectiveKind::Gather, "knomial4", "up a tree of radix 4, one message per subtree");
}

Algorithm scatter_binomial() {
  return row<kBinomial>(CollectiveKind::Scatter, "binomial",
                        "down a binomial tree, one message per subtree (Thakur, Rabenseifner, Gropp)");
}

Algorithm scatter_knomial4() {
  return row<kKnomial>(CollectiveKind::Scatter, "knomial4",
                       "down a tree of radix 4, one message per subtree");
}

}  // namespace rondo::gather_scatter_knomial
