// SPDX-License-Identifier: Apache-2.0
#include "search/forest_load.h"

#include <map>
#include <numeric>
#include <utility>

namespace rondo {
namespace {

Status wrong(const std::string& what) { return Status(Code::InternalError, "not a forest: " + what); }

/// a + b; nothing if that does not fit.
std::optional<Rational> sum_of(const Rational& a, const Rational& b) {
  const int64_t common = std::gcd(a.denominator(), b.denominator());
  return Rational::of(WideInteger{a.numerator()} * (b.denominator() / common) +
                          WideInteger{b.numerator()} * (a.denominator() / common),
                      WideInteger{a.denominator()} * (b.denominator() / common));
}

class LoadCount {
 public:
  LoadCount(const TopologyGraph& graph, const Forest& forest) : graph_(graph), forest_(forest) {
    load_.link_weights.resize(graph.links().size());
  }

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
        RONDO_TRY(add_route(route, edge));
      }
      if (weight != tree.weight)
        return wrong(fmt::format("routes of {} -> {} have weight {}, the tree has {}", edge.parent,
                                 edge.child, weight, tree.weight));
    }
    if (tree.edges.size() + 1 != forest_.gpus.size())
      return wrong(fmt::format("a tree of root {} has {} edges", tree.root, tree.edges.size()));
    return {};
  }

  /// Follows a route by the share of its bytes at each node.
  Status add_route(const GpuRoute& route, const TreeEdge& edge) {
    const int start = forest_.gpus[static_cast<size_t>(edge.parent)];
    const int end = forest_.gpus[static_cast<size_t>(edge.child)];
    if (route.weight < 1) return wrong(fmt::format("a route of weight {}", route.weight));
    std::map<int, Rational> at{{start, 1}};
    for (const Hop& hop : route.hops) {
      WideInteger all = 0;
      for (const LinkShare& part : hop) all += part.share;
      std::map<int, Rational> leaving, arriving;
      for (const auto& [link, share] : hop) {
        if (link < 0 || static_cast<size_t>(link) >= graph_.links().size() || share < 1)
          return wrong(fmt::format("share {} of link {}", share, link));
        const auto part = Rational::of(share, all);
        const auto weight = Rational::of(WideInteger{route.weight} * share, all);
        if (!part || !weight || !add(leaving[graph_.link(link).from], *part) ||
            !add(arriving[graph_.link(link).to], *part) ||
            !add(load_.link_weights[static_cast<size_t>(link)], *weight))
          return wrong(fmt::format("the shares of link {} do not add up exactly", link));
      }
      if (leaving != at)
        return wrong(fmt::format("hops of {} -> {} do not follow one another", edge.parent, edge.child));
      if (&hop != &route.hops.front() && passes_gpu(at))
        return wrong(fmt::format("a route of {} -> {} leads through a GPU", edge.parent, edge.child));
      at = std::move(arriving);
    }
    if (at != std::map<int, Rational>{{end, 1}})
      return wrong(fmt::format("a route of {} -> {} ends elsewhere", edge.parent, edge.child));
    return {};
  }

  static bool add(Rational& sum, const Rational& value) {
    const auto result = sum_of(sum, value);
    sum = result.value_or(sum);
    return result.has_value();
  }

  bool passes_gpu(const std::map<int, Rational>& at) const {
    for (const auto& [node, share] : at)
      if (graph_.node(node).kind == NodeKind::Gpu) return true;
    return false;
  }

  Result<ForestLoad> finish() {
    for (size_t link = 0; link != load_.link_weights.size(); ++link) {
      const Rational& weight = load_.link_weights[link];
      const auto time =
          Rational::of(weight.numerator(), WideInteger{weight.denominator()} * graph_.links()[link].kBps);
      if (!time) return wrong(fmt::format("the time of link {} is no fraction of 64 bits", link));
      if (weight.numerator() == 0 || *time < load_.scale) continue;
      if (load_.scale < *time) load_.busiest.clear();
      load_.scale = *time;
      load_.busiest.push_back(static_cast<int>(link));
    }
    if (load_.busiest.empty()) return std::move(load_);
    const auto rate = static_cast<int64_t>(forest_.gpus.size() - 1) * forest_.k;
    const auto bus = Rational::of(WideInteger{rate} * load_.scale.denominator(), load_.scale.numerator());
    if (!bus) return wrong("its bandwidth is no fraction of 64 bits");
    load_.bus_kBps = *bus;
    return std::move(load_);
  }

  const TopologyGraph& graph_;
  const Forest& forest_;
  ForestLoad load_;
};

}  // namespace

Result<ForestLoad> forest_load(const TopologyGraph& graph, const Forest& forest) {
  return LoadCount(graph, forest).run();
}

}  // namespace rondo
