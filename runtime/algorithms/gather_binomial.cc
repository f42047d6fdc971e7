// Gather up a binomial tree: each rank collects the blocks of its subtree and sends them on as one message.
//
//     1 ─► 0 ◄─ 2 ◄─ 3              a subtree is a run of consecutive ranks (halving_tree.h), so its blocks
//          ▲                        lie in order wherever the root is
//          4 ◄─ 5
//          ▲
//          6 ◄─ 7
//
// log2 n messages at the root instead of n - 1, for short blocks. Ranks on the way must know the lengths, so
// there is no varying form. (Thakur, Rabenseifner, Gropp, IJHPCA 2005.)
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
    schedule.add({.src = input(0), .send = {place.parent}});
    return schedule;
  }
  const auto place_of = [&](int block) { return is_root ? output(block) : scratch(block - place.own.first); };
  schedule.add({.src = input(0), .dst = place_of(rank)});
  for (auto child = place.children.rbegin(); child != place.children.rend(); ++child)
    schedule.add({.recv = {child->rank}, .dst = place_of(child->first), .count = child->count});
  if (!is_root) schedule.add({.src = scratch(0), .send = {place.parent}, .count = place.own.count});
  return schedule;
}

}  // namespace

Algorithm gather_binomial() {
  return {.name = "binomial",
          .kind = CollectiveKind::Gather,
          .summary = "up a binomial tree, a subtree a message (Thakur, Rabenseifner, Gropp)",
          .supports = supports_subtrees,
          .cost = subtrees_cost,
          .build = build,
          .most_count = most_subtree_blocks};
}

}  // namespace rondo
