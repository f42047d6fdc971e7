// SPDX-License-Identifier: Apache-2.0
#include "ring_routes.h"

#include <algorithm>
#include <utility>

#include "limit/usable_links.h"

namespace rondo {
namespace {

/// Networks are left out: no best path on a host leads through them, and searches stay on the host.
std::vector<int> used_links(const TopologyGraph& graph, std::span<const int> gpus) {
  const UsableLinks usable = usable_links(graph, gpus);
  std::vector<int> links;
  for (size_t i = 0; i != usable.kBps.size(); ++i)
    if (usable.kBps[i] > 0 && graph.links()[i].cls != LinkClass::Network)
      links.push_back(static_cast<int>(i));
  return links;
}

TopologyGraph with_links(const TopologyGraph& graph, const std::vector<int>& links) {
  std::vector<TopologyLink> kept;
  for (const int link : links) kept.push_back(graph.link(link));
  return {{graph.nodes().begin(), graph.nodes().end()}, std::move(kept)};
}

}  // namespace

RingRoutes::RingRoutes(const TopologyGraph& graph, std::span<const int> gpus)
    : graph_(graph),
      links_(used_links(graph, gpus)),
      there_(with_links(graph, links_)),
      back_(there_.reversed()),
      paths_there_(there_),
      paths_back_(back_) {}

std::optional<std::vector<Hop>> RingRoutes::from_gpu(int gpu, int to) const {
  const std::vector<int> links = paths_there_.links(gpu, to);
  return links.empty() ? std::nullopt : std::optional(spread(links));
}

std::optional<std::vector<Hop>> RingRoutes::from_nic(int nic, int gpu) const {
  std::vector<int> links = paths_back_.links(gpu, nic);
  if (links.empty()) return std::nullopt;
  std::ranges::reverse(links);
  return spread(links);
}

std::optional<RingRoutes::NetworkLinks> RingRoutes::network_of(int nic) const {
  for (const int to : graph_.links_from(nic)) {
    const int network = graph_.link(to).to;
    if (graph_.node(network).kind != NodeKind::Network) continue;
    for (const int from : graph_.links_from(network))
      if (graph_.link(from).to == nic) return NetworkLinks{network, to, from};
  }
  return std::nullopt;
}

/// Paths have the ways through NVSwitches one after the other: of a -> s -> b, a -> t -> b the first hop
/// leads from a to s and t, the second from both to b.
std::vector<Hop> RingRoutes::spread(const std::vector<int>& links) const {
  const auto at = [&](size_t i) -> const TopologyLink& { return there_.link(links[i]); };
  std::vector<Hop> hops;
  for (size_t i = 0; i != links.size();) {
    const int start = at(i).from;
    size_t end = i + 2;
    while (end + 1 < links.size() && at(end).from == start && at(end + 1).to == at(i + 1).to) end += 2;
    if (end == i + 2) {
      hops.push_back({{links_[static_cast<size_t>(links[i++])], 1}});
      continue;
    }
    Hop first, second;
    for (; i != end; i += 2) {
      const int64_t share = std::min(at(i).kBps, at(i + 1).kBps);
      first.push_back({links_[static_cast<size_t>(links[i])], share});
      second.push_back({links_[static_cast<size_t>(links[i + 1])], share});
    }
    hops.push_back(std::move(first));
    hops.push_back(std::move(second));
  }
  return hops;
}

}  // namespace rondo
