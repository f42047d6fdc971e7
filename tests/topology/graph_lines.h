// SPDX-License-Identifier: Apache-2.0
// A TopologyGraph as sorted lines, by which graphs whose nodes are in another order can be compared.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/topology_graph.h"

namespace rondo::test {

/// All but ranks, which belong to a communicator rather than to a host.
inline std::vector<std::string> graph_lines(const TopologyGraph& graph) {
  std::vector<std::string> lines;
  for (const TopologyNode& node : graph.nodes())
    lines.push_back(fmt::format("{} kind {} bus id '{}' dev {}", node.name, static_cast<int>(node.kind),
                                node.bus_id, node.dev));
  for (const TopologyLink& link : graph.links())
    lines.push_back(fmt::format("{} -> {} {} x{} {} kB/s", graph.node(link.from).name,
                                graph.node(link.to).name, link_class_name(link.cls), link.count, link.kBps));
  std::ranges::sort(lines);
  return lines;
}

}  // namespace rondo::test
