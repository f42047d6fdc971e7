// SPDX-License-Identifier: Apache-2.0
#include "graph/paths.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace rondo {
namespace {

constexpr std::array<std::string_view, 12> kNames = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                     "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
constexpr size_t kClasses = kNames.size() - 1;  // those that a path can have

/// The class of a path that goes on by a PCIe link; nothing if data does not go that way.
std::optional<PathClass> after_pcie(PathClass before, NodeKind from, NodeKind to) {
  const bool at_cpu = from == NodeKind::Numa || to == NodeKind::Numa;
  // Only data for NICs goes by NVLink to another GPU that then uses PCIe, and only to those close to it.
  if (before == PathClass::Pxn && (at_cpu || to == NodeKind::Gpu)) return std::nullopt;
  if (at_cpu && before == PathClass::C2C && to != NodeKind::Gpu) return PathClass::P2C;
  if (at_cpu || (before == PathClass::P2C && to == NodeKind::Gpu)) return std::max(before, PathClass::Phb);
  const bool between_switches = from == NodeKind::PciSwitch && to == NodeKind::PciSwitch;
  return std::max(before, between_switches ? PathClass::Pxb : PathClass::Pix);
}

/// The class of a path that has reached node `from` and goes on by a link; nothing if data does not go that
/// way. GPUs forward only what came by NVLink alone, to GPUs and NICs; NICs only to and from their network.
std::optional<PathClass> extended(const TopologyGraph& graph, int source, PathClass before,
                                  const TopologyLink& link) {
  const TopologyNode& from = graph.node(link.from);
  const TopologyNode& to = graph.node(link.to);
  if (link.from != source && from.kind == NodeKind::Gpu) {
    if (before != PathClass::Nvl) return std::nullopt;
    if (is_fabric(link.cls)) return to.kind == NodeKind::Numa ? std::nullopt : std::optional(PathClass::Nvb);
    return link.cls == LinkClass::Pcie ? after_pcie(PathClass::Pxn, from.kind, to.kind) : std::nullopt;
  }
  if (from.kind == NodeKind::Nic && before != PathClass::Net && link.cls != LinkClass::Network)
    return std::nullopt;
  switch (link.cls) {
    case LinkClass::NvLink:
    case LinkClass::Xgmi: {
      // Below a PCI tree there is no NVLink to be reached, only beside it; some CPUs have their own.
      const bool by_fabric = before <= PathClass::Nvb || from.kind == NodeKind::Numa;
      return by_fabric ? std::optional(std::max(before, PathClass::Nvl)) : std::nullopt;
    }
    case LinkClass::C2C: return std::max(before, PathClass::C2C);
    case LinkClass::Pcie: return after_pcie(before, from.kind, to.kind);
    case LinkClass::Socket:
      return before == PathClass::Pxn ? std::nullopt : std::optional(std::max(before, PathClass::Sys));
    case LinkClass::Network: {
      const bool returns = to.kind == NodeKind::Nic && to.host == graph.node(source).host;
      return returns ? std::nullopt : std::optional(PathClass::Net);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view path_class_name(PathClass cls) { return kNames[static_cast<size_t>(cls)]; }

Paths::Paths(const TopologyGraph& graph) : source_of_(graph.nodes().size(), -1) {
  for (const int gpu : graph.gpus()) {
    source_of_[static_cast<size_t>(gpu)] = static_cast<int>(sources_.size());
    sources_.push_back(paths_from(graph, gpu));
  }
}

namespace {

struct SwitchRoutes {
  int gpu;
  int64_t kBps = 0;
  std::vector<int> links;
};

/// From a GPU to each other through NVSwitches, all at once.
std::vector<SwitchRoutes> switch_routes(const TopologyGraph& graph, int gpu) {
  std::vector<SwitchRoutes> routes;
  std::vector<int> place(graph.nodes().size(), -1);  // in routes, by GPU
  for (const int first : graph.links_from(gpu)) {
    if (graph.node(graph.link(first).to).kind != NodeKind::NvSwitch) continue;
    for (const int second : graph.links_from(graph.link(first).to)) {
      const int to = graph.link(second).to;
      if (to == gpu || graph.node(to).kind != NodeKind::Gpu) continue;
      int& known = place[static_cast<size_t>(to)];
      if (known < 0) {
        known = static_cast<int>(routes.size());
        routes.push_back({to, 0, {}});
      }
      SwitchRoutes& to_gpu = routes[static_cast<size_t>(known)];
      to_gpu.kBps += std::min(graph.link(first).kBps, graph.link(second).kBps);
      to_gpu.links.insert(to_gpu.links.end(), {first, second});
    }
  }
  return routes;
}

}  // namespace

/// Goes on from all paths of h links to those of h + 1, and keeps a path that is wider than all shorter ones
/// of its class to that node. So the first of the widest has the fewest links.
Paths::FromGpu Paths::paths_from(const TopologyGraph& graph, int gpu) {
  FromGpu result;
  std::vector<std::array<int64_t, kClasses>> widest(graph.nodes().size(), std::array<int64_t, kClasses>{});
  std::vector<std::array<int, kClasses>> label_of(graph.nodes().size());
  constexpr auto kNvl = static_cast<size_t>(PathClass::Nvl);
  size_t without_nvl = graph.gpus().size() - 1;
  const auto keep = [&](Label label) {
    const auto node = static_cast<size_t>(label.node), cls = static_cast<size_t>(label.cls);
    if (label.kBps <= widest[node][cls]) return;
    // GPUs forward only what came by NVLink alone: another path to them is of no use.
    const bool is_gpu = graph.node(label.node).kind == NodeKind::Gpu;
    if (is_gpu && cls > kNvl && widest[node][kNvl] > 0) return;
    if (is_gpu && cls == kNvl && widest[node][kNvl] == 0) --without_nvl;
    widest[node][cls] = label.kBps;
    label_of[node][cls] = static_cast<int>(result.labels.size());
    result.labels.push_back(std::move(label));
  };
  constexpr int64_t kOfItself = std::numeric_limits<int64_t>::max();
  keep({gpu, PathClass::Loc, kOfItself, 0, {}, -1});
  widest[static_cast<size_t>(gpu)].fill(kOfItself);
  for (size_t next = 0; next != result.labels.size(); ++next) {
    const auto [node, before, width, hops, links, previous] = result.labels[next];
    for (const int index : graph.links_from(node)) {
      const TopologyLink& link = graph.link(index);
      if (const auto cls = extended(graph, gpu, before, link))
        keep({link.to, *cls, std::min(width, link.kBps), hops + 1, {index}, static_cast<int>(next)});
    }
    if (graph.node(node).kind != NodeKind::Gpu) continue;
    if (node != gpu && (before != PathClass::Nvl || without_nvl == 0)) continue;
    const PathClass cls = node == gpu ? PathClass::Nvl : PathClass::Nvb;
    for (SwitchRoutes& routes : switch_routes(graph, node))
      keep({routes.gpu, cls, std::min(width, routes.kBps), hops + 2, std::move(routes.links),
            static_cast<int>(next)});
  }
  result.best.assign(graph.nodes().size(), -1);
  for (size_t node = 0; node != graph.nodes().size(); ++node)
    for (size_t cls = kClasses; cls-- != 0;)
      if (widest[node][cls] > 0) result.best[node] = label_of[node][cls];
  result.best[static_cast<size_t>(gpu)] = 0;
  return result;
}

PathSummary Paths::FromGpu::summary(size_t node) const {
  if (best[node] < 0) return {};
  const Label& path = labels[static_cast<size_t>(best[node])];
  return {path.cls, path.kBps, path.hops};
}

PathSummary Paths::between(int gpu, int node) const { return source(gpu).summary(static_cast<size_t>(node)); }

std::vector<PathSummary> Paths::summaries(const TopologyGraph& graph, int gpu) {
  const FromGpu paths = paths_from(graph, gpu);
  std::vector<PathSummary> summaries;
  for (size_t node = 0; node != graph.nodes().size(); ++node) summaries.push_back(paths.summary(node));
  return summaries;
}

std::vector<int> Paths::links(int gpu, int node) const {
  std::vector<int> result;
  const auto& labels = source(gpu).labels;
  for (int at = source(gpu).best[static_cast<size_t>(node)]; at >= 0;
       at = labels[static_cast<size_t>(at)].previous)
    result.insert(result.begin(), labels[static_cast<size_t>(at)].links.begin(),
                  labels[static_cast<size_t>(at)].links.end());
  return result;
}

PathSummary PathTable::between(const TopologyGraph& graph, int gpu, int node) {
  auto row = rows_.find(gpu);
  if (row == rows_.end()) {
    row = rows_.emplace(gpu, std::vector<int>()).first;
    for (const PathSummary& summary : Paths::summaries(graph, gpu)) {
      const auto [number, is_new] = numbers_.emplace(summary, static_cast<int>(different_.size()));
      if (is_new) different_.push_back(summary);
      row->second.push_back(number->second);
    }
    row->second.shrink_to_fit();
  }
  return different_[static_cast<size_t>(row->second[static_cast<size_t>(node)])];
}

}  // namespace rondo
