// SPDX-License-Identifier: Apache-2.0
#include "ring_routes.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "limit/rational.h"
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

// Shares of ways add up to kMaxExact at most, or to kRounded, so that sums of many of them stay fractions of
// 64 bits. Machines have up to 18 NVLinks a GPU.
constexpr int64_t kMaxExact = 24;
constexpr int64_t kRounded = 1024;

/// As wide as the ways, exactly if that takes few parts, else in 1024ths: differences of rounded sums.
std::vector<int64_t> small_shares(std::vector<int64_t> widths) {
  if (widths.empty()) return widths;
  const int64_t divisor =
      std::accumulate(widths.begin(), widths.end(), int64_t{0}, std::gcd<int64_t, int64_t>);
  for (int64_t& width : widths) width /= divisor;
  const WideInteger all = std::accumulate(widths.begin(), widths.end(), WideInteger{0});
  if (all <= kMaxExact) return widths;
  WideInteger before = 0;
  for (int64_t& width : widths) {
    const WideInteger upto = before + width;
    width = static_cast<int64_t>(upto * kRounded / all - before * kRounded / all);
    before = upto;
  }
  return widths;
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
  for (const int link : graph_.links_from(nic)) {
    const int network = graph_.link(link).to;
    if (graph_.node(network).kind != NodeKind::Network) continue;
    NetworkLinks links{network, between(nic, network), between(network, nic)};
    if (!links.from.empty()) return links;
  }
  return std::nullopt;
}

/// All links from one node to another.
Hop RingRoutes::between(int from, int to) const {
  Hop hop;
  std::vector<int64_t> widths;
  for (const int link : graph_.links_from(from)) {
    if (graph_.link(link).to != to) continue;
    hop.push_back({link, 1});
    widths.push_back(graph_.link(link).kBps);
  }
  const std::vector<int64_t> shares = small_shares(widths);
  for (size_t i = 0; i != hop.size(); ++i) hop[i].share = shares[i];
  std::erase_if(hop, [](const LinkShare& part) { return part.share == 0; });
  return hop;
}

/// Paths have the ways through NVSwitches one after the other: of a -> s -> b, a -> t -> b the first hop
/// leads from a to s and t, the second from both to b.
std::vector<Hop> RingRoutes::spread(const std::vector<int>& links) const {
  const auto at = [&](size_t i) -> const TopologyLink& { return there_.link(links[i]); };
  const auto link = [&](size_t i) { return links_[static_cast<size_t>(links[i])]; };
  std::vector<Hop> hops;
  for (size_t i = 0; i != links.size();) {
    size_t end = i + 2;
    while (end + 1 < links.size() && at(end).from == at(i).from && at(end + 1).to == at(i + 1).to) end += 2;
    if (end == i + 2) {
      hops.push_back({{link(i++), 1}});
      continue;
    }
    std::vector<int64_t> widths;
    for (size_t way = i; way != end; way += 2) widths.push_back(std::min(at(way).kBps, at(way + 1).kBps));
    Hop first, second;
    for (const int64_t share : small_shares(widths)) {
      if (share > 0) {
        first.push_back({link(i), share});
        second.push_back({link(i + 1), share});
      }
      i += 2;
    }
    hops.push_back(std::move(first));
    hops.push_back(std::move(second));
  }
  return hops;
}

}  // namespace rondo
