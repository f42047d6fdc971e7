// SPDX-License-Identifier: Apache-2.0
#include "search/message_links.h"

#include <optional>
#include <tuple>
#include <utility>

#include "graph/paths.h"
#include "ring_routes.h"

namespace rondo {
namespace {

Status no_path(const TopologyGraph& graph, int from, int to) {
  return error(Code::Unsupported, "there is no path from {} to {}", graph.node(from).name,
               graph.node(to).name);
}

/// Best first.
auto distance(const PathSummary& path) { return std::tuple(path.cls, -path.kBps, path.hops); }

}  // namespace

MessageLinks::MessageLinks(const TopologyGraph& graph, std::span<const int> gpus)
    : graph_(graph),
      gpus_(gpus),
      routes_(std::make_unique<const RingRoutes>(graph, gpus)),
      paths_(graph.hosts() > 1 ? std::make_unique<const Paths>(graph) : nullptr) {}

MessageLinks::~MessageLinks() = default;

Result<std::vector<Hop>> MessageLinks::between(int from, int to) const {
  const int start = gpus_[static_cast<size_t>(from)], end = gpus_[static_cast<size_t>(to)];
  if (graph_.node(start).host == graph_.node(end).host) {
    auto hops = routes_->from_gpu(start, end);
    return hops ? Result<std::vector<Hop>>(std::move(*hops)) : no_path(graph_, start, end);
  }
  const int leaves = nearest_nic(start), enters = nearest_nic(end);
  if (leaves < 0 || enters < 0) return no_path(graph_, start, end);
  auto hops = routes_->from_gpu(start, leaves), arrival = routes_->from_nic(enters, end);
  const auto out = routes_->network_of(leaves), in = routes_->network_of(enters);
  if (!hops || !arrival || !out || !in || out->network != in->network) return no_path(graph_, start, end);
  hops->push_back(out->to);
  hops->push_back(in->from);
  hops->insert(hops->end(), arrival->begin(), arrival->end());
  return std::move(*hops);
}

int MessageLinks::nearest_nic(int gpu) const {
  std::vector<int> nearest;
  for (const int nic : graph_.nics()) {
    if (graph_.node(nic).host != graph_.node(gpu).host) continue;
    const PathSummary path = paths_->between(gpu, nic);
    if (path.cls == PathClass::Dis) continue;
    if (!nearest.empty()) {
      const auto known = distance(paths_->between(gpu, nearest[0])), found = distance(path);
      if (found > known) continue;
      if (found < known) nearest.clear();
    }
    nearest.push_back(nic);
  }
  if (nearest.empty()) return -1;
  return nearest[static_cast<size_t>(graph_.node(gpu).dev) % nearest.size()];
}

}  // namespace rondo
