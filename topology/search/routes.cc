// SPDX-License-Identifier: Apache-2.0
#include "routes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "pool_shares.h"

namespace rondo {
namespace {

/// Takes strands of `weight` in all. Ways that visit a switch twice are cut short.
std::vector<Strand> take_strands(std::vector<Strand>& strands, int64_t weight) {
  std::vector<Strand> taken;
  while (weight > 0) {
    Strand strand = strands.back();
    strand.amount = std::min(strand.amount, weight);
    weight -= strand.amount;
    if ((strands.back().amount -= strand.amount) == 0) strands.pop_back();
    for (size_t i = 0; i != strand.nodes.size(); ++i) {
      const auto here = strand.nodes.begin() + static_cast<std::ptrdiff_t>(i);
      const auto again = std::ranges::find(strand.nodes.rbegin(), strand.nodes.rend(), *here).base() - 1;
      strand.nodes.erase(here, again);
    }
    taken.push_back(std::move(strand));
  }
  return taken;
}

/// A switch of the CompactGraph, if it is several of the TopologyGraph.
struct PoolSwitches {
  std::vector<int> switches;    // nodes of the TopologyGraph
  std::vector<int> neighbours;  // nodes of the CompactGraph
  Pool loads;
  Table<std::vector<int64_t>> shares;
};

class RouteBuilder {
 public:
  RouteBuilder(const TopologyGraph& graph, const UsableLinks& usable, const CompactGraph& compact)
      : graph_(graph), usable_(usable) {
    for (const CompactEdge& edge : compact.edges) edges_[{edge.from, edge.to}] = &edge;
    for (int node = compact.gpus; node != compact.nodes; ++node) add_pool(node, compact);
  }

  void count(const Strand& strand) {
    for (size_t i = 1; i + 1 < strand.nodes.size(); ++i) {
      const auto pool = pools_.find(strand.nodes[i]);
      if (pool == pools_.end()) continue;
      pool->second.loads
          .weights[place(pool->second, strand.nodes[i - 1])][place(pool->second, strand.nodes[i + 1])] +=
          strand.amount;
    }
  }

  bool share_pools(const Rational& scale) {
    for (auto& [node, pool] : pools_) {
      auto shares = pool_shares(pool.loads, scale);
      if (!shares) return false;
      pool.shares = std::move(*shares);
    }
    return true;
  }

  GpuRoute route(const Strand& strand) const {
    GpuRoute route{strand.amount, {}};
    for (size_t i = 1; i != strand.nodes.size(); ++i) {
      const int from = strand.nodes[i - 1], to = strand.nodes[i];
      if (const auto pool = pools_.find(to); pool != pools_.end())
        route.hops.push_back(pool_hop(from, to, pool->second, from, strand.nodes[i + 1]));
      else if (const auto pool_before = pools_.find(from); pool_before != pools_.end())
        route.hops.push_back(pool_hop(from, to, pool_before->second, strand.nodes[i - 2], to));
      else
        route.hops.push_back(by_bandwidth(edges_.at({from, to})->links));
    }
    return route;
  }

 private:
  static size_t place(const PoolSwitches& pool, int neighbour) {
    return static_cast<size_t>(std::ranges::find(pool.neighbours, neighbour) - pool.neighbours.begin());
  }

  int64_t kBps(int link) const { return usable_.kBps[static_cast<size_t>(link)]; }

  void add_pool(int node, const CompactGraph& compact) {
    PoolSwitches pool;
    for (const CompactEdge& edge : compact.edges) {
      if (edge.to != node && edge.from != node) continue;
      pool.neighbours.push_back(edge.to == node ? edge.from : edge.to);
      for (const int link : edge.links)
        pool.switches.push_back(edge.to == node ? graph_.link(link).to : graph_.link(link).from);
    }
    for (std::vector<int>* nodes : {&pool.neighbours, &pool.switches}) {
      std::ranges::sort(*nodes);
      nodes->erase(std::unique(nodes->begin(), nodes->end()), nodes->end());
    }
    if (pool.switches.size() == 1) return;
    const size_t around = pool.neighbours.size();
    pool.loads.weights.assign(around, std::vector<int64_t>(around));
    for (const int neighbour : pool.neighbours) {
      pool.loads.sends.push_back(by_switch(pool, {neighbour, node}));
      pool.loads.receives.push_back(by_switch(pool, {node, neighbour}));
    }
    pools_.emplace(node, std::move(pool));
  }

  /// What an edge's links to or from each switch of a pool have together.
  std::vector<int64_t> by_switch(const PoolSwitches& pool, std::pair<int, int> ends) const {
    std::vector<int64_t> sums(pool.switches.size());
    const auto edge = edges_.find(ends);
    if (edge == edges_.end()) return sums;
    for (const int link : edge->second->links) sums[switch_of(pool, link)] += kBps(link);
    return sums;
  }

  size_t switch_of(const PoolSwitches& pool, int link) const {
    const auto from = std::ranges::find(pool.switches, graph_.link(link).from);
    const auto found =
        from != pool.switches.end() ? from : std::ranges::find(pool.switches, graph_.link(link).to);
    return static_cast<size_t>(found - pool.switches.begin());
  }

  Hop by_bandwidth(const std::vector<int>& links) const {
    Hop hop;
    int64_t common = 0;
    for (const int link : links) common = std::gcd(common, kBps(link));
    for (const int link : links) hop.push_back({link, kBps(link) / common});
    return hop;
  }

  /// The hop of an edge into or out of a pool, which bytes cross from the neighbour `source` to `target`.
  Hop pool_hop(int from, int to, const PoolSwitches& pool, int source, int target) const {
    const std::vector<int64_t>& shares = pool.shares[place(pool, source)][place(pool, target)];
    Hop hop;
    for (const int link : edges_.at({from, to})->links)
      if (const int64_t share = shares[switch_of(pool, link)]; share > 0) hop.push_back({link, share});
    return hop;
  }

  const TopologyGraph& graph_;
  const UsableLinks& usable_;
  std::map<std::pair<int, int>, const CompactEdge*> edges_;
  std::map<int, PoolSwitches> pools_;
};

}  // namespace

std::optional<std::vector<Tree>> with_routes(std::span<const PackedTree> packed, LogicalGraph logical,
                                             const TopologyGraph& graph, const UsableLinks& usable,
                                             const CompactGraph& compact, const Rational& scale) {
  RouteBuilder builder(graph, usable, compact);
  std::vector<std::vector<Strand>> ways;  // of each tree's edges, one tree after another
  for (const PackedTree& tree : packed) {
    for (const int child : tree.reached) {
      if (child == tree.root) continue;
      ways.push_back(
          take_strands(logical.strands(tree.parent[static_cast<size_t>(child)], child), tree.weight));
      for (const Strand& strand : ways.back()) builder.count(strand);
    }
  }
  if (!builder.share_pools(scale)) return std::nullopt;
  std::vector<Tree> trees;
  auto way = ways.begin();
  for (const PackedTree& tree : packed) {
    trees.push_back({tree.root, tree.weight, {}});
    for (const int child : tree.reached) {
      if (child == tree.root) continue;
      TreeEdge edge{
          tree.parent[static_cast<size_t>(child)], child, tree.depth[static_cast<size_t>(child)], {}};
      for (const Strand& strand : *way++) edge.routes.push_back(builder.route(strand));
      trees.back().edges.push_back(std::move(edge));
    }
  }
  std::ranges::stable_sort(trees, {}, &Tree::root);
  return trees;
}

}  // namespace rondo
