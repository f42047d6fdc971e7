// Scatter down a binomial tree: a subtree's blocks travel as one message to its leader, which sends on its
// subtrees'.
//
//     0 ─► 4 (blocks 4..7), 2 (2..3), 1            4 ─► 6 (6..7), 5            2 ─► 3            6 ─► 7
//
// log2 n messages from the root instead of n - 1, for short blocks. Ranks on the way must know the lengths,
// so there is no varying form. (Thakur, Rabenseifner, Gropp, IJHPCA 2005; halving_tree.h draws the tree.)
#include "halving_tree.h"
#include "parts.h"
#include "rows.h"

namespace rondo {
namespace {

Schedule build(const Shape& shape, int rank) {
  const TreePlace place = halving_tree(shape.nranks, shape.root, rank);
  const bool is_root = rank == shape.root;
  const bool is_leaf = place.children.empty();
  Schedule schedule(shape, rank, 1, is_root || is_leaf ? 0 : place.own.count);
  schedule.slot_chunks = most_subtree_blocks(shape);
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

}  // namespace

Algorithm scatter_binomial() {
  return {.name = "binomial",
          .kind = CollectiveKind::Scatter,
          .summary = "down a binomial tree, a subtree a message (Thakur, Rabenseifner, Gropp)",
          .supports = supports_subtrees,
          .cost = subtrees_cost,
          .build = build,
          .most_count = most_subtree_blocks};
}

}  // namespace rondo
