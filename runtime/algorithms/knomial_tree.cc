// SPDX-License-Identifier: Apache-2.0
#include "knomial_tree.h"

#include <algorithm>
#include <cmath>

#include "parts.h"

namespace rondo {
namespace {

/// The length of run `index` if `count` ranks are cut into `parts` runs.
int share(int count, int parts, int index) { return (count + parts - 1 - index) / parts; }

/// The depth in edges below the first of `count` consecutive ranks, which leads them. Its second share is the
/// longest that gets a leader of its own.
int depth_of_run(int count, int radix) {
  int depth = 0;
  for (; count > 1; ++depth) count = share(count, std::min(radix, count), 1);
  return depth;
}

/// The number of children of the first of `count` consecutive ranks, which keeps the longest share; it is
/// also the number of turns that reach all of them.
int children_of_first(int count, int radix) {
  int children = 0;
  for (; count > 1; count = share(count, radix, 0)) children += std::min(radix, count) - 1;
  return children;
}

}  // namespace

std::vector<Branch> cut_run(const Branch& whole, int radix) {
  const int parts = std::min(radix, whole.count);
  std::vector<Branch> runs;
  int first = whole.first;
  for (int index = 0; index < parts; ++index) {
    Branch run{first, first, share(whole.count, parts, index)};
    if (run.holds(whole.rank)) run.rank = whole.rank;
    runs.push_back(run);
    first += run.count;
  }
  return runs;
}

TreePlace knomial_tree(const Shape& shape, int rank, int radix) {
  TreePlace place;
  place.rank = rank;
  Branch whole{shape.root, 0, shape.nranks};
  if (rank == shape.root) place.own = whole;
  while (whole.count > 1) {
    Branch mine;
    for (const Branch& run : cut_run(whole, radix)) {
      if (run.holds(rank))
        mine = run;
      else if (rank == whole.rank)
        place.children.push_back(run);
    }
    if (rank == mine.rank && rank != whole.rank) {
      place.parent = whole.rank;
      place.own = mine;
    }
    whole = mine;
  }
  return place;
}

std::vector<int> child_ranks(const TreePlace& place) {
  std::vector<int> ranks;
  for (const Branch& child : place.children) ranks.push_back(child.rank);
  return ranks;
}

std::vector<int> fold_order(const TreePlace& place) {
  std::vector<int> ranks = child_ranks(place);
  ranks.push_back(place.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

TreeSize knomial_size(const Shape& shape, int radix) {
  TreeSize size;
  int of_root = 0;
  for (Branch whole{shape.root, 0, shape.nranks}; whole.count > 1;) {
    Branch with_root;
    for (const Branch& run : cut_run(whole, radix)) {
      if (run.rank == whole.rank) {
        with_root = run;
        continue;
      }
      const int children = children_of_first(run.count, radix);
      size.depth = std::max(size.depth, 1 + depth_of_run(run.count, radix));
      size.turns = std::max(size.turns, ++of_root + children);
      size.max_children = std::max({size.max_children, of_root, children});
    }
    whole = with_root;
  }
  return size;
}

double mean_subtree_volume(const Shape& shape, int radix) {
  const double mean_depth = (1 - 1.0 / radix) * std::log(shape.nranks) / std::log(radix);
  return mean_depth / shape.nranks;
}

bool supports_subtrees(const Shape& shape) {
  // With radix 4, a rank has up to 3 children per level.
  return !shape.varying && fits(shape, 3 * ceil_log2(shape.nranks) + 2);
}

Cost subtrees_cost(const Shape& shape, int radix) {
  const double n = shape.nranks;
  const TreeSize size = knomial_size(shape, radix);
  return {.rounds = static_cast<double>(size.depth),
          .volume = (n - 1) / n,
          .steady = (n - 1) / n,
          .messages = static_cast<double>(size.max_children),
          .one_way = true,
          .mean = {.volume = mean_subtree_volume(shape, radix), .messages = (n - 1) / n}};
}

int max_subtree_blocks(const Shape& shape, int radix) {
  return shape.nranks > 1 ? share(shape.nranks, std::min(radix, shape.nranks), 0) : 1;
}

}  // namespace rondo
