// SPDX-License-Identifier: Apache-2.0
#include "pack_trees.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "limit/flow_network.h"

namespace rondo {
namespace {

enum class GrowthOrder : uint8_t { LevelByLevel, RootByRoot };

/// A tree that may be incomplete.
struct Growing {
  PackedTree packed;
  int level = 0;               // depth of the GPUs whose edges are tried next
  std::vector<int64_t> takes;  // by edge: the most that it can take; never rises
  int node = 0;                // in the flows
  int weight_edge = 0;
};

class Packing {
 public:
  Packing(const LogicalGraph& graph, int64_t k, GrowthOrder order, WorkLimit& limit)
      : gpus_(graph.gpus()), order_(order), limit_(limit), flows_(gpus_ + 1) {
    for (int from = 0; from != gpus_; ++from) {
      for (int to = 0; to != gpus_; ++to) {
        capacity_.push_back(graph.capacity(from, to));
        edges_.push_back(flows_.add_edge(from, to, capacity_.back()));
      }
      giver_edges_.push_back(flows_.add_edge(from, giver(), 0));
    }
    for (int root = 0; root != gpus_; ++root) {
      const std::vector<int> none(static_cast<size_t>(gpus_), -1);
      Growing tree{{root, k, none, none, {root}}, 0, capacity_};
      tree.packed.depth[static_cast<size_t>(root)] = 0;
      add(std::move(tree));
    }
  }

  std::optional<std::vector<PackedTree>> run() {
    for (;;) {
      const size_t next = next_tree();
      if (next == trees_.size()) break;
      if (!grow_level(next)) return std::nullopt;
    }
    std::vector<PackedTree> packed;
    for (Growing& tree : trees_) packed.push_back(std::move(tree.packed));
    return packed;
  }

 private:
  int giver() const { return gpus_; }  // node that gives the incomplete trees their weights
  size_t index(int from, int to) const { return static_cast<size_t>(from * gpus_ + to); }
  bool complete(const Growing& tree) const { return std::ssize(tree.packed.reached) == gpus_; }
  static int depth(const Growing& tree, int gpu) { return tree.packed.depth[static_cast<size_t>(gpu)]; }
  static bool has(const Growing& tree, int gpu) { return depth(tree, gpu) >= 0; }

  void add(Growing tree) {
    tree.node = flows_.add_node();
    tree.weight_edge = flows_.add_edge(giver(), tree.node, tree.packed.weight);
    for (const int gpu : tree.packed.reached) flows_.add_edge(tree.node, gpu, FlowNetwork::kUnlimited);
    incomplete_weight_ += tree.packed.weight;
    trees_.push_back(std::move(tree));
  }

  /// The number of trees: all are complete.
  size_t next_tree() const {
    size_t next = trees_.size();
    for (size_t i = trees_.size(); i-- != 0;)
      if (!complete(trees_[i]) && (next == trees_.size() || order_ == GrowthOrder::RootByRoot ||
                                   trees_[i].level <= trees_[next].level))
        next = i;
    return next;
  }

  /// Tries the edges from the tree's GPUs of one depth. False: the limit was reached.
  bool grow_level(size_t tree_index) {
    Growing& tree = trees_[tree_index];
    const auto edges = edges_of_level(tree);
    for (const auto& [from, to] : edges)
      if (!has(tree, to) && most(tree, from, to) == tree.packed.weight) take(tree, from, to);
    const bool was_last = std::ranges::max(tree.packed.depth) <= tree.level++;
    return !limit_.over() && (complete(tree) || !was_last || divide(tree_index));
  }

  /// The nearest in rank first; of equal ones that with the least capacity, which leaves the wider to trees
  /// that need them.
  std::vector<std::pair<int, int>> edges_of_level(const Growing& tree) const {
    std::vector<std::pair<int, int>> edges;
    for (const int from : tree.packed.reached)
      for (int to = 0; depth(tree, from) == tree.level && to != gpus_; ++to)
        if (!has(tree, to) && capacity_[index(from, to)] >= tree.packed.weight) edges.emplace_back(from, to);
    std::ranges::sort(edges, {}, [this](const std::pair<int, int>& edge) {
      const auto [from, to] = edge;
      return std::tuple((to - from + gpus_) % gpus_, capacity_[index(from, to)], from);
    });
    return edges;
  }

  /// The most of the tree that the edge can take.
  int64_t most(Growing& tree, int from, int to) {
    int64_t& known = tree.takes[index(from, to)];
    known = std::min({known, tree.packed.weight, capacity_[index(from, to)]});
    if (known <= 0 || !limit_.allows_flow()) return 0;
    const int64_t others = incomplete_weight_ - tree.packed.weight;
    flows_.set_capacity(tree.weight_edge, 0);
    flows_.set_capacity(giver_edges_[static_cast<size_t>(from)], FlowNetwork::kUnlimited);
    known = flows_.max_flow(from, to, others + known) - others;
    flows_.set_capacity(giver_edges_[static_cast<size_t>(from)], 0);
    flows_.set_capacity(tree.weight_edge, tree.packed.weight);
    return known;
  }

  void take(Growing& tree, int from, int to) {
    capacity_[index(from, to)] -= tree.packed.weight;
    flows_.set_capacity(edges_[index(from, to)], capacity_[index(from, to)]);
    flows_.add_edge(tree.node, to, FlowNetwork::kUnlimited);
    tree.packed.parent[static_cast<size_t>(to)] = from;
    tree.packed.depth[static_cast<size_t>(to)] = depth(tree, from) + 1;
    tree.packed.reached.push_back(to);
    if (!complete(tree)) return;
    incomplete_weight_ -= tree.packed.weight;
    flows_.set_capacity(tree.weight_edge, 0);
  }

  /// No edge takes the whole tree: takes the one that takes most of it, from the nearest to the root, and
  /// makes the rest a tree of its own. Both begin at the root again. There is such an edge, or the limit was
  /// reached.
  bool divide(size_t tree_index) {
    Growing& tree = trees_[tree_index];
    std::tuple<int64_t, int, int, int> best;  // weight, -depth, from, to
    for (const int from : tree.packed.reached)
      for (int to = 0; to != gpus_; ++to)
        if (!has(tree, to)) best = std::max(best, {most(tree, from, to), -depth(tree, from), from, to});
    const auto [weight, minus_depth, from, to] = best;
    if (weight == 0) return false;
    tree.level = 0;
    Growing rest = tree;
    rest.packed.weight -= weight;
    incomplete_weight_ -= rest.packed.weight;
    tree.packed.weight = weight;
    flows_.set_capacity(tree.weight_edge, weight);
    take(tree, from, to);
    add(std::move(rest));
    return true;
  }

  const int gpus_;
  const GrowthOrder order_;
  WorkLimit& limit_;
  std::vector<int64_t> capacity_;  // by edge: what no tree has taken
  FlowNetwork flows_;
  std::vector<int> edges_;        // in flows_, by edge
  std::vector<int> giver_edges_;  // from each GPU to the giver
  std::vector<Growing> trees_;
  int64_t incomplete_weight_ = 0;
};

int deepest(const std::vector<PackedTree>& trees) {
  int depth = 0;
  for (const PackedTree& tree : trees) depth = std::max(depth, std::ranges::max(tree.depth));
  return depth;
}

}  // namespace

std::optional<std::vector<PackedTree>> pack_trees(const LogicalGraph& graph, int64_t k, WorkLimit& limit) {
  auto best = Packing(graph, k, GrowthOrder::LevelByLevel, limit).run();
  if (!best || deepest(*best) == 1) return best;
  auto other = Packing(graph, k, GrowthOrder::RootByRoot, limit).run();
  const auto cost = [](const std::vector<PackedTree>& trees) {
    return std::pair(deepest(trees), trees.size());
  };
  return other && cost(*other) < cost(*best) ? other : best;
}

}  // namespace rondo
