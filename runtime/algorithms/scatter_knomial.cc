// SPDX-License-Identifier: Apache-2.0
// Scatter down a k-nomial tree: a subtree's blocks travel as one message to its leader, which forwards those
// of its own subtrees.
//
//     radix 2:   0 ─► 4 (blocks 4..7), 2 (2..3), 1        4 ─► 6 (6..7), 5        2 ─► 3        6 ─► 7
//
// (k - 1) log_k n messages from the root instead of n - 1, for short blocks. Intermediate ranks must know the
// lengths, so there is no varying form. (Thakur, Rabenseifner, Gropp, IJHPCA 2005; knomial_tree.h draws the
// trees.)
#include "algorithms/algorithm.h"
#include "knomial_tree.h"
#include "parts.h"

namespace rondo {
namespace {

template <int kRadix>
Cost cost(const Shape& shape) {
  return subtrees_cost(shape, kRadix);
}

template <int kRadix>
int max_count(const Shape& shape) {
  return max_subtree_blocks(shape, kRadix);
}

template <int kRadix>
Schedule build(const Shape& shape, int rank) {
  const TreePlace place = knomial_tree(shape, rank, kRadix);
  const bool is_root = rank == shape.root;
  const bool is_leaf = place.children.empty();
  Schedule schedule(shape, rank, 1, is_root || is_leaf ? 0 : place.own.count);
  schedule.slot_chunks = max_count<kRadix>(shape);
  if (is_leaf && !is_root) {
    schedule.add({.recv = {place.parent}, .dst = output(0)});
    return schedule;
  }
  const auto place_of = [&](int block) { return is_root ? input(block) : scratch(block - place.own.first); };
  if (!is_root) schedule.add({.recv = {place.parent}, .dst = scratch(0), .count = place.own.count});
  for (const Branch& child : place.children)
    schedule.add({.src = place_of(child.first), .send = {child.rank}, .count = child.count});
  schedule.add({.src = place_of(rank), .dst = output(0)});
  return schedule;
}

template <int kRadix>
Algorithm row(const char* name, const char* summary) {
  return {.name = name,
          .kind = CollectiveKind::Scatter,
          .summary = summary,
          .supports = supports_subtrees,
          .cost = cost<kRadix>,
          .cost_is_estimate = true,
          .build = build<kRadix>,
          .max_count = max_count<kRadix>};
}

}  // namespace

Algorithm scatter_binomial() {
  return row<kBinomial>("binomial",
                        "down a binomial tree, one message per subtree (Thakur, Rabenseifner, Gropp)");
}

Algorithm scatter_knomial4() {
  return row<kKnomial>("knomial4", "down a tree of radix 4, one message per subtree");
}

}  // namespace rondo
