// SPDX-License-Identifier: Apache-2.0
#include "shortest_ways.h"

#include <algorithm>
#include <functional>

#include "base/error_kinds.h"

namespace rondo {
namespace {

/// Breadth first from one root.
class WaysFrom {
 public:
  WaysFrom(const TopologyGraph& graph, std::span<const int> gpus, const UsableLinks& usable, int root)
      : graph_(graph), usable_(usable), rank_(graph.nodes().size(), -1), link_to_(graph.nodes().size(), -1) {
    for (size_t rank = 0; rank != gpus.size(); ++rank)
      rank_[static_cast<size_t>(gpus[rank])] = static_cast<int>(rank);
    depth_.assign(gpus.size(), -1);
    depth_[static_cast<size_t>(root)] = 0;
    tree_.root = root;
    start_ = gpus[static_cast<size_t>(root)];
  }

  Tree run() {
    std::vector<int> queue{start_};
    for (size_t next = 0; next != queue.size(); ++next) {
      for (const int link : widest_first(queue[next])) {
        const int to = graph_.link(link).to;
        if (kBps(link) == 0 || to == start_ || link_to_[static_cast<size_t>(to)] >= 0) continue;
        link_to_[static_cast<size_t>(to)] = link;
        queue.push_back(to);
        if (rank_[static_cast<size_t>(to)] >= 0) add_edge(to);
      }
    }
    return std::move(tree_);
  }

 private:
  int64_t kBps(int link) const { return usable_.kBps[static_cast<size_t>(link)]; }

  std::vector<int> widest_first(int node) const {
    const std::span<const int> from = graph_.links_from(node);
    std::vector<int> links(from.begin(), from.end());
    std::ranges::stable_sort(links, std::greater(), [this](int link) { return kBps(link); });
    return links;
  }

  /// From the nearest GPU on the way back to the root.
  void add_edge(int node) {
    GpuRoute route;
    int from = node;
    do {
      const int link = link_to_[static_cast<size_t>(from)];
      route.hops.push_back({{link, 1}});
      from = graph_.link(link).from;
    } while (rank_[static_cast<size_t>(from)] < 0);
    std::ranges::reverse(route.hops);
    const int parent = rank_[static_cast<size_t>(from)], child = rank_[static_cast<size_t>(node)];
    depth_[static_cast<size_t>(child)] = depth_[static_cast<size_t>(parent)] + 1;
    tree_.edges.push_back({parent, child, depth_[static_cast<size_t>(child)], {std::move(route)}});
  }

  const TopologyGraph& graph_;
  const UsableLinks& usable_;
  std::vector<int> rank_;     // of GPUs that take part
  std::vector<int> link_to_;  // by which a node was reached
  std::vector<int> depth_;
  int start_ = 0;
  Tree tree_;
};

}  // namespace

Result<std::vector<Tree>> shortest_ways(const TopologyGraph& graph, std::span<const int> gpus,
                                        const UsableLinks& usable) {
  constexpr size_t kMaxHops = 400'000;  // of some 130 bytes each
  std::vector<Tree> trees;
  size_t hops = 0;
  for (size_t root = 0; root != gpus.size(); ++root) {
    trees.push_back(WaysFrom(graph, gpus, usable, static_cast<int>(root)).run());
    for (const TreeEdge& edge : trees.back().edges) hops += edge.routes[0].hops.size();
    if (hops > kMaxHops)
      return error(ErrorKind::TooLargeToPlan,
                   "plans are made for paths of up to {} links together; between {} GPUs they have more",
                   kMaxHops, gpus.size());
  }
  return trees;
}

}  // namespace rondo
