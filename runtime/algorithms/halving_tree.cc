#include "halving_tree.h"

#include <algorithm>

#include "parts.h"

namespace rondo {
namespace {

/// The ranks [first, end) with their leader, cut into the leader's half and another with a leader of its own.
struct Halves {
  Branch with_leader;
  Branch other;
};

Halves halve(const Branch& whole) {
  const int left = (whole.count + 1) / 2;
  const int middle = whole.first + left;
  const Branch low{whole.first, whole.first, left};
  const Branch high{middle, middle, whole.count - left};
  Halves halves = whole.rank < middle ? Halves{low, high} : Halves{high, low};
  halves.with_leader.rank = whole.rank;
  return halves;
}

bool holds(const Branch& branch, int rank) {
  return rank >= branch.first && rank < branch.first + branch.count;
}

}  // namespace

TreePlace halving_tree(int n, int root, int rank) {
  TreePlace place;
  place.rank = rank;
  Branch whole{root, 0, n};
  if (rank == root) place.own = whole;
  while (whole.count > 1) {
    const Halves halves = halve(whole);
    if (holds(halves.with_leader, rank)) {
      if (rank == whole.rank) place.children.push_back(halves.other);
      whole = halves.with_leader;
      continue;
    }
    if (rank == halves.other.rank) {
      place.parent = whole.rank;
      place.own = halves.other;
    }
    whole = halves.other;
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

int halving_depth(int n, int root) {
  int depth = 0;
  for (Branch whole{root, 0, n}; whole.count > 1;) {
    const Halves halves = halve(whole);
    depth = std::max(depth, 1 + floor_log2(halves.other.count));
    whole = halves.with_leader;
  }
  return depth;
}

int most_children(int n, int root) {
  int most = 0;
  int of_root = 0;
  for (Branch whole{root, 0, n}; whole.count > 1; ++of_root) {
    const Halves halves = halve(whole);
    most = std::max(most, ceil_log2(halves.other.count));
    whole = halves.with_leader;
  }
  return std::max(most, of_root);
}

bool supports_subtrees(const Shape& shape) {
  return !shape.varying && fits(shape, ceil_log2(shape.nranks) + 2);
}

Cost subtrees_cost(const Shape& shape) {
  const double n = shape.nranks;
  return {static_cast<double>(halving_depth(shape.nranks, shape.root)), (n - 1) / n, (n - 1) / n};
}

int most_subtree_blocks(const Shape& shape) { return std::max(1, (shape.nranks + 1) / 2); }

}  // namespace rondo
