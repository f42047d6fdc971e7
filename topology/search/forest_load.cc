// SPDX-License-Identifier: Apache-2.0
#include "search/forest_load.h"

#include <string>
#include <utility>

#include "link_weights.h"

namespace rondo {
namespace {

Status wrong(const std::string& what) { return Status(Code::InternalError, "not a forest: " + what); }

class LoadCount {
 public:
  LoadCount(const TopologyGraph& graph, const Forest& forest)
      : graph_(graph), forest_(forest), load_(graph) {}

  Result<ForestLoad> run() {
    std::vector<int64_t> weights(forest_.gpus.size());
    for (const int gpu : forest_.gpus)
      if (gpu < 0 || static_cast<size_t>(gpu) >= graph_.nodes().size() ||
          graph_.node(gpu).kind != NodeKind::Gpu)
        return wrong(fmt::format("node {} is not a GPU", gpu));
    for (const Tree& tree : forest_.trees) {
      if (!is_rank(tree.root)) return wrong(fmt::format("a tree of root {}", tree.root));
      if (tree.weight < 1 || tree.weight > forest_.k)
        return wrong(fmt::format("a tree of root {} has weight {}", tree.root, tree.weight));
      weights[static_cast<size_t>(tree.root)] += tree.weight;
      RONDO_TRY(add_tree(tree));
    }
    for (size_t root = 0; root != weights.size(); ++root)
      if (weights[root] != forest_.k)
        return wrong(fmt::format("trees of root {} have weight {}, not {}", root, weights[root], forest_.k));
    return finish();
  }

 private:
  bool is_rank(int rank) const { return rank >= 0 && static_cast<size_t>(rank) < forest_.gpus.size(); }

  Status add_tree(const Tree& tree) {
    std::vector<int> depth(forest_.gpus.size(), -1);
    depth[static_cast<size_t>(tree.root)] = 0;
    for (const TreeEdge& edge : tree.edges) {
      if (!is_rank(edge.parent) || !is_rank(edge.child) || depth[static_cast<size_t>(edge.parent)] < 0 ||
          depth[static_cast<size_t>(edge.child)] >= 0)
        return wrong(fmt::format("edge {} -> {} of root {}", edge.parent, edge.child, tree.root));
      depth[static_cast<size_t>(edge.child)] = depth[static_cast<size_t>(edge.parent)] + 1;
      if (edge.depth != depth[static_cast<size_t>(edge.child)])
        return wrong(fmt::format("depth {} of edge {} -> {}", edge.depth, edge.parent, edge.child));
      int64_t weight = 0;
      for (const GpuRoute& route : edge.routes) {
        weight += route.weight;
        const Status added = load_.add(route, forest_.gpus[static_cast<size_t>(edge.parent)],
                                       forest_.gpus[static_cast<size_t>(edge.child)]);
        if (!added.ok())
          return wrong(fmt::format("a route of {} -> {}: {}", edge.parent, edge.child, added.message()));
      }
      if (weight != tree.weight)
        return wrong(fmt::format("routes of {} -> {} have weight {}, the tree has {}", edge.parent,
                                 edge.child, weight, tree.weight));
    }
    if (tree.edges.size() + 1 != forest_.gpus.size())
      return wrong(fmt::format("a tree of root {} has {} edges", tree.root, tree.edges.size()));
    return {};
  }

  Result<ForestLoad> finish() const {
    RONDO_TRY_ASSIGN(BusiestLinks busiest, load_.busiest());
    ForestLoad load{load_.weights(), busiest.scale, {}, std::move(busiest.links)};
    if (load.busiest.empty()) return load;
    const auto rate = static_cast<int64_t>(forest_.gpus.size() - 1) * forest_.k;
    const auto bus = Rational::of(WideInteger{rate} * load.scale.denominator(), load.scale.numerator());
    if (!bus) return wrong("its bandwidth is no fraction of 64 bits");
    load.bus_kBps = *bus;
    return load;
  }

  const TopologyGraph& graph_;
  const Forest& forest_;
  LinkWeights load_;
};

}  // namespace

Result<ForestLoad> forest_load(const TopologyGraph& graph, const Forest& forest) {
  return LoadCount(graph, forest).run();
}

}  // namespace rondo
