// SPDX-License-Identifier: Apache-2.0
#include "limit/bound.h"

#include <algorithm>
#include <map>

#include "base/error_kinds.h"
#include "collective_limits.h"
#include "describe_cut.h"
#include "limit/usable_links.h"

namespace rondo {
namespace {

CutNetwork network_of(const TopologyGraph& graph, std::span<const int> gpus, const UsableLinks& links) {
  CutNetwork network;
  network.nodes = static_cast<int>(graph.nodes().size());
  for (size_t i = 0; i != links.kBps.size(); ++i)
    if (links.kBps[i] > 0)
      network.edges.push_back({graph.links()[i].from, graph.links()[i].to, links.kBps[i]});
  network.gpus.assign(gpus.begin(), gpus.end());
  std::map<int, int> hosts;  // of the GPUs, numbered from 0
  for (const int gpu : gpus) hosts.emplace(graph.node(gpu).host, static_cast<int>(hosts.size()));
  for (const TopologyNode& node : graph.nodes()) {
    const auto host = node.kind == NodeKind::Network ? hosts.end() : hosts.find(node.host);
    network.hosts.push_back(host == hosts.end() ? -1 : host->second);
    network.hosts_without_nics.push_back(node.kind == NodeKind::Nic ? -1 : network.hosts.back());
  }
  return network;
}

/// Of the minimum cuts between the same GPUs the one closest to the side that has fewer.
void move_to_smaller_side(const CutNetwork& network, NodeSet& inside) {
  const auto count =
      std::ranges::count_if(network.gpus, [&](int gpu) { return inside[static_cast<size_t>(gpu)]; });
  NodeSet outside = inside;
  outside.flip();
  if (2 * count < std::ssize(network.gpus)) {
    GpuFlow flow(network);
    flow.capacity(inside, outside);
    inside = flow.source_side();
  } else {
    const CutNetwork back = reversed(network);
    GpuFlow flow(back);
    flow.capacity(outside, inside);
    inside = flow.source_side();
    inside.flip();
  }
}

/// Whether plans are trees that copy or combine, which switches cannot.
bool is_by_trees(CollectiveKind collective) {
  switch (collective) {
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllReduce:
    case CollectiveKind::Broadcast:
    case CollectiveKind::Reduce: return true;
    default: return false;
  }
}

Status check_gpus(const TopologyGraph& graph, std::span<const int> gpus) {
  std::vector<bool> seen(graph.nodes().size());
  for (const int gpu : gpus) {
    if (gpu < 0 || static_cast<size_t>(gpu) >= seen.size() || graph.node(gpu).kind != NodeKind::Gpu)
      return error(Code::InvalidArgument, "node {} is not a GPU of the graph", gpu);
    if (seen[static_cast<size_t>(gpu)])
      return error(Code::InvalidArgument, "{} is named twice", graph.node(gpu).name);
    seen[static_cast<size_t>(gpu)] = true;
  }
  if (gpus.size() < 2)
    return error(Code::InvalidArgument, "a bound needs two GPUs or more, between which data moves, not {}",
                 gpus.empty() ? std::string("none") : graph.node(gpus[0]).name + " alone");
  return {};
}

Status check_call(std::span<const int> gpus, CollectiveKind collective, int root) {
  if (collective == CollectiveKind::Barrier || collective >= CollectiveKind::PointToPoint)
    return error(Code::InvalidArgument, "{} has no bus bandwidth", collective_name(collective));
  if (has_root(collective) && (root < 0 || static_cast<size_t>(root) >= gpus.size()))
    return error(Code::InvalidArgument, "root {} is none of the {} ranks", root, gpus.size());
  return {};
}

/// Flows multiply bandwidths by numbers up to that of the GPUs.
Status check_speeds(const UsableLinks& links, size_t gpus) {
  WideInteger total = 0;
  for (const int64_t kBps : links.kBps) total += kBps;
  if (total * static_cast<WideInteger>(gpus) < FlowNetwork::kUnlimited) return {};
  return error(Code::InvalidArgument, "the links between {} GPUs are too fast for whole numbers of 64 bits",
               gpus);
}

/// The bound for one collective of the same GPUs.
class Bounder {
 public:
  static Result<Bounder> of(const TopologyGraph& graph, std::span<const int> gpus, CollectiveKind collective,
                            int root) {
    RONDO_TRY(check_gpus(graph, gpus));
    RONDO_TRY(check_call(gpus, collective, root));
    Bounder bounder(graph, gpus, collective, has_root(collective) ? root : 0);
    RONDO_TRY(check_speeds(bounder.links_, gpus.size()));
    return bounder;
  }

  BandwidthBound without_combining_switches() const {
    const CollectiveLimits limits(network_of(graph_, gpus_, links_), root_);
    Limit limit = limits.of(collective_);
    Rational ceiling = limit.x;
    bool by_cuts = collective_ == CollectiveKind::AllToAll || traits(collective_).is_scan();
    UsableLinks links = links_;
    if (is_by_trees(collective_) && trim_switches(graph_, links)) {
      Limit trimmed = CollectiveLimits(network_of(graph_, gpus_, links), root_).of(collective_);
      // Even shares may leave nothing where links go one way only; what plans reach is then not known.
      by_cuts = trimmed.x == 0 && limit.x > 0;
      if (trimmed.x < limit.x && !by_cuts)
        limit = std::move(trimmed);
      else
        links = links_;
    }
    if (collective_ == CollectiveKind::AllReduce) ceiling = limits.all_reduce_ceiling(limit);
    const BoundKind kind = by_cuts              ? BoundKind::Cuts
                           : ceiling == limit.x ? BoundKind::Exact
                                                : BoundKind::EqualShares;
    return result(kind, std::move(limit), ceiling, links);
  }

  Result<BandwidthBound> with_combining_switches() const {
    bool has_nvswitch = false;
    for (size_t i = 0; i != links_.kBps.size(); ++i)
      has_nvswitch |= links_.kBps[i] > 0 && graph_.node(graph_.links()[i].to).kind == NodeKind::NvSwitch;
    if (!has_nvswitch)
      return error(ErrorKind::GpusNotJoined,
                   "no NVSwitch joins these GPUs, so nothing combines data on its way");
    const CollectiveLimits limits(network_of(graph_, gpus_, links_), root_);
    Limit limit =
        collective_ == CollectiveKind::AllReduce ? limits.all_reduce_in_network() : limits.of(collective_);
    const Rational x = limit.x;
    return result(BoundKind::Cuts, std::move(limit), x, links_);
  }

 private:
  Bounder(const TopologyGraph& graph, std::span<const int> gpus, CollectiveKind collective, int root)
      : graph_(graph), gpus_(gpus), collective_(collective), root_(root), links_(usable_links(graph, gpus)) {}

  /// nccl-tests' bus bandwidth.
  Rational bus(Rational x) const {
    const bool in_blocks = traits(collective_).has_blocks() || collective_ == CollectiveKind::AllReduce;
    const auto factor = static_cast<int64_t>(in_blocks ? gpus_.size() - 1 : 1);
    return Rational::rounded_up(WideInteger{x.numerator()} * factor, x.denominator());
  }

  /// `links` are those on which the limit was found.
  BandwidthBound result(BoundKind kind, Limit limit, Rational ceiling, const UsableLinks& links) const {
    BandwidthBound bound{limit.x, bus(limit.x), bus(ceiling), kind, {}, {}, {}};
    NodeSet& inside = limit.cut.inside;
    if (limit.cut.shape == CutShape::Other) move_to_smaller_side(network_of(graph_, gpus_, links), inside);
    for (const int gpu : gpus_)
      if (inside[static_cast<size_t>(gpu)]) bound.gpus_inside.push_back(gpu);
    for (size_t i = 0; i != links.kBps.size(); ++i) {
      const TopologyLink& link = graph_.links()[i];
      if (links_.kBps[i] > 0 && inside[static_cast<size_t>(link.from)] &&
          !inside[static_cast<size_t>(link.to)])
        bound.links.push_back(static_cast<int>(i));
    }
    bound.limit = describe_cut(graph_, links, gpus_, limit.cut, bound.links);
    return bound;
  }

  const TopologyGraph& graph_;
  std::span<const int> gpus_;
  CollectiveKind collective_;
  int root_;
  UsableLinks links_;
};

/// Whether the edges lead from the first GPU to all others.
bool reach_all(const CutNetwork& network) {
  NodeSet reached(static_cast<size_t>(network.nodes));
  reached[static_cast<size_t>(network.gpus[0])] = true;
  bool changed = true;
  while (changed) {
    changed = false;
    for (const CutEdge& edge : network.edges) {
      if (!reached[static_cast<size_t>(edge.from)] || reached[static_cast<size_t>(edge.to)]) continue;
      reached[static_cast<size_t>(edge.to)] = changed = true;
    }
  }
  return std::ranges::all_of(network.gpus, [&](int gpu) { return reached[static_cast<size_t>(gpu)]; });
}

}  // namespace

Result<BandwidthBound> bandwidth_bound(const TopologyGraph& graph, std::span<const int> gpus,
                                       CollectiveKind collective, int root) {
  RONDO_TRY_ASSIGN(const Bounder bounder, Bounder::of(graph, gpus, collective, root));
  return bounder.without_combining_switches();
}

Result<BandwidthBound> in_network_bound(const TopologyGraph& graph, std::span<const int> gpus,
                                        CollectiveKind collective, int root) {
  RONDO_TRY_ASSIGN(const Bounder bounder, Bounder::of(graph, gpus, collective, root));
  return bounder.with_combining_switches();
}

TopologyGraph fabric_or_all(const TopologyGraph& graph, std::span<const int> gpus) {
  TopologyGraph fabric = graph.filtered([](const TopologyLink& link) { return is_fabric(link.cls); });
  if (gpus.empty()) return fabric;
  const CutNetwork network = network_of(fabric, gpus, usable_links(fabric, gpus));
  return reach_all(network) && reach_all(reversed(network)) ? fabric : graph;
}

}  // namespace rondo
