// SPDX-License-Identifier: Apache-2.0
// All-reduce over two binary trees: each half of the vector goes up and down its own tree.
//
//     half 0:       3                half 1:       2
//                ┌──┴──┐                        ┌──┴──┐
//                1     5                        0     4
//               ┌┴┐   ┌┘                        └┐   ┌┴┐
//               0 2   4                          1   3 5
//
// An inner node of one tree is a leaf of the other, so the work is balanced: over many tiles each rank sends
// and receives about two vectors, after only 2 log2 n rounds.
//
// Four lanes, up and down for each tree, so that one tile goes down while the next comes up. The second tree
// is the first one mirrored or, if n is odd and the reduction commutes, shifted by one rank; in-order trees,
// mirrored or not, fold in rank order. (P. Sanders, J. Speck, J. L. Träff, Two-tree algorithms for full
// bandwidth broadcast, reduction and scan, Parallel Computing 2009.)
#include <algorithm>
#include <vector>

#include "algorithms/algorithm.h"
#include "groups.h"
#include "parts.h"

namespace rondo::all_reduce_double_binary_tree {
namespace {

// Binary trees with in-order traversal 1, 2, ... n: arithmetic on the lowest set bit.
//
//                4               a node's height is the number of its trailing zero bits;
//            ┌───┴───┐           odd positions are leaves, even ones are not (except possibly the last)
//            2       6
//          ┌─┴─┐   ┌─┴─┐
//          1   3   5   7
struct TreeNode {
  int parent = 0;             // 0: this is the root
  std::vector<int> children;  // at most two, the lower one first
};

int parent_of(int position, int n) {
  if (position == 1 << floor_log2(n)) return 0;
  int bit = position & -position;
  do {  // positions past n do not exist: their children are attached to their parent instead
    position = (position & (2 * bit)) != 0 ? position - bit : position + bit;
    bit *= 2;
  } while (position > n);
  return position;
}

TreeNode in_order_node(int position, int n) {
  TreeNode node{.parent = parent_of(position, n)};
  int reach = (position & -position) / 2;
  if (reach == 0) return node;
  node.children.push_back(position - reach);
  while (reach > 0 && position + reach > n) reach /= 2;
  if (reach > 0) node.children.push_back(position + reach);
  return node;
}

constexpr int kTrees = 2;

bool supports(const Shape& shape) { return fits(shape, 1); }

/// Over equal links. Volumes are fitted to the simulator's results, to within a sixth: which transfers
/// overlap depends on the relative position of the two trees.
Cost cost_of_all(const Shape& shape) {
  const int n = shape.nranks;
  const double rounds = 2 * floor_log2(n);
  if (n == 1) return {};
  if (n == 2) return {rounds, 1, 0, 0, 0.5};  // each half goes there and back, one after the other
  if (n % 2 == 1 && !shape.commutative)
    return {rounds, rounds + 1, n < 7 ? 2.5 : 4, 0, 2};  // some ranks are inner nodes of both trees
  const bool full = (n & (n + 1)) == 0;                  // the lowest level is complete
  return {rounds, full ? rounds : rounds - 1, n == 3 ? 1.5 : 2.5, 0, 1};
}

/// Maps a rank to its 1-based position in a tree, and back.
class Seats {
 public:
  Seats(const Shape& shape, int tree)
      : n_(shape.nranks), mirrored_(tree == 1 && (n_ % 2 == 0 || !shape.commutative)), shift_(tree) {}

  int position(int rank) const { return mirrored_ ? n_ - rank : wrap(rank + shift_, n_) + 1; }
  int rank(int position) const { return mirrored_ ? n_ - position : wrap(position - 1 - shift_, n_); }

 private:
  int n_;
  bool mirrored_;
  int shift_;
};

/// The most edges of both trees that a rank has to ranks of other groups.
int max_edges_between(const Shape& shape) {
  const Groups groups(shape);
  std::vector<int> edges(static_cast<size_t>(shape.nranks));
  for (int tree = 0; tree < kTrees; ++tree) {
    const Seats seats(shape, tree);
    for (int position = 1; position <= shape.nranks; ++position) {
      const int above = parent_of(position, shape.nranks);
      if (above == 0) continue;
      const int rank = seats.rank(position), parent = seats.rank(above);
      if (groups.group_of(rank) == groups.group_of(parent)) continue;
      for (const int end : {rank, parent}) ++edges[static_cast<size_t>(end)];
    }
  }
  return *std::ranges::max_element(edges);
}

/// Ranks of a group are consecutive, so about as many levels of a tree cross groups as a tree of groups has.
/// Each edge carries half of the vector in either direction.
Cost cost_between(const Shape& shape) {
  const Cost all = cost_of_all(shape);
  const double rounds = std::min(all.rounds, 2.0 * ceil_log2(Groups(shape).count()));
  const double part = rounds / all.rounds;
  return {.rounds = rounds,
          .volume = all.volume * part,
          .steady = std::min(all.steady, max_edges_between(shape) * 0.5),
          .folds = all.folds * part};
}

/// The rest: at least an edge.
Cost cost_within(const Shape& shape) {
  const Cost all = cost_of_all(shape), between = cost_between(shape);
  return {.rounds = all.rounds - between.rounds,
          .volume = all.volume - between.volume,
          .steady = std::max(0.5, all.steady - between.steady),
          .folds = all.folds - between.folds};
}

Cost cost(const Shape& shape) { return has_groups(shape) ? cost_between(shape) : cost_of_all(shape); }

Cost inner_cost(const Shape& shape, int level) {
  return has_groups(shape) ? of_outermost<cost_within>(shape, level) : Cost();
}

void add_tree(Schedule& schedule, const Shape& shape, int tree) {
  const Seats seats(shape, tree);
  const TreeNode node = in_order_node(seats.position(schedule.rank), shape.nranks);
  const int up = 2 * tree;
  const int down = up + 1;
  std::vector<int> children;
  for (int child : node.children) children.push_back(seats.rank(child));
  std::vector<int> fold = children;
  fold.push_back(schedule.rank);
  std::sort(fold.begin(), fold.end());
  if (node.parent == 0) {
    const int top = schedule.add(up, {.recv = fold, .src = input(tree), .dst = output(tree), .finish = true});
    if (!children.empty())
      schedule.add(down, {.src = output(tree), .send = children, .after_lane = up, .after_step = top});
    return;
  }
  const int parent = seats.rank(node.parent);
  schedule.add(up, {.recv = fold, .src = input(tree), .send = {parent}});
  schedule.add(down, {.recv = {parent}, .dst = output(tree), .send = children});
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank, kTrees);
  for (int tree = 0; tree < kTrees; ++tree) add_tree(schedule, shape, tree);
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "double_binary_tree",
          .kind = CollectiveKind::AllReduce,
          .summary = "each half up and down its own tree (Sanders, Speck, Traeff)",
          .supports = supports,
          .cost = cost,
          .cost_is_estimate = true,
          .inner_cost = inner_cost,
          .build = build,
          .parts = [](const Shape&) { return kTrees; }};
}

}  // namespace rondo::all_reduce_double_binary_tree
