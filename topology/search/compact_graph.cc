// SPDX-License-Identifier: Apache-2.0
#include "compact_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace rondo {
namespace {

struct Neighbours {
  std::set<int> before, after;
  friend auto operator<=>(const Neighbours&, const Neighbours&) = default;
  bool any_of(const std::set<int>& nodes) const {
    const auto found = [&](int node) { return nodes.contains(node); };
    return std::ranges::any_of(before, found) || std::ranges::any_of(after, found);
  }
};

/// The number of each node in the CompactGraph.
class Numbering {
 public:
  Numbering(const TopologyGraph& graph, std::span<const int> gpus, const UsableLinks& usable)
      : number_(graph.nodes().size(), kNone), neighbours_(graph.nodes().size()) {
    for (const int gpu : gpus) number_[static_cast<size_t>(gpu)] = next_++;
    for (size_t i = 0; i != usable.kBps.size(); ++i) {
      const TopologyLink& link = graph.links()[i];
      if (usable.kBps[i] == 0 || link.from == link.to) continue;
      const bool first = neighbours_[static_cast<size_t>(link.from)].after.insert(link.to).second;
      neighbours_[static_cast<size_t>(link.to)].before.insert(link.from);
      if (!first) unpoolable_.insert({link.from, link.to});
    }
  }

  void number_switches(bool pool) {
    std::map<Neighbours, std::vector<size_t>> alike;
    for (size_t node = 0; node != number_.size(); ++node)
      if (is_switch(node)) alike[neighbours_[node]].push_back(node);
    for (size_t node = 0; node != number_.size(); ++node) {
      if (!is_switch(node)) continue;
      number_[node] = next_++;
      if (pool) add_equals(alike.at(neighbours_[node]), number_[node]);
    }
  }

  int of(int node) const { return number_[static_cast<size_t>(node)]; }
  int nodes() const { return next_; }
  bool pooled() const { return !pools_.empty(); }

 private:
  static constexpr int kNone = -1;

  /// In use, and neither a GPU nor numbered yet.
  bool is_switch(size_t node) const { return number_[node] == kNone && neighbours_[node] != Neighbours(); }

  /// Between two neighbours of a pool there is one way through each of its switches: so no pools side by
  /// side, and no parallel links.
  void add_equals(const std::vector<size_t>& nodes, int number) {
    const auto unpoolable = [this](size_t node) { return unpoolable_.contains(static_cast<int>(node)); };
    if (nodes.size() == 1 || std::ranges::any_of(nodes, unpoolable) || neighbours_[nodes[0]].any_of(pools_))
      return;
    for (const size_t node : nodes) {
      number_[node] = number;
      pools_.insert(static_cast<int>(node));
    }
  }

  std::vector<int> number_;
  std::vector<Neighbours> neighbours_;
  std::set<int> unpoolable_;  // ends of parallel links
  std::set<int> pools_;       // nodes that share a number
  int next_ = 0;
};

}  // namespace

CompactGraph compact_graph(const TopologyGraph& graph, std::span<const int> gpus, const UsableLinks& usable,
                           bool pool) {
  Numbering numbering(graph, gpus, usable);
  numbering.number_switches(pool);
  std::map<std::pair<int, int>, CompactEdge> edges;
  for (size_t i = 0; i != usable.kBps.size(); ++i) {
    if (usable.kBps[i] == 0) continue;
    const int from = numbering.of(graph.links()[i].from);
    const int to = numbering.of(graph.links()[i].to);
    if (from == to) continue;
    CompactEdge& edge = edges[{from, to}];
    edge.from = from;
    edge.to = to;
    edge.kBps += usable.kBps[i];
    edge.links.push_back(static_cast<int>(i));
  }
  CompactGraph compact{static_cast<int>(gpus.size()), numbering.nodes(), {}, numbering.pooled()};
  for (auto& [ends, edge] : edges) compact.edges.push_back(std::move(edge));
  return compact;
}

}  // namespace rondo
