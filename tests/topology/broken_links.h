// SPDX-License-Identifier: Apache-2.0
// Graphs of machines with a link broken.
#pragma once

#include <set>
#include <tuple>
#include <vector>

#include "graph/topology_graph.h"

namespace rondo::test {

/// The graph without a link, or with one physical link of it less, in one direction or in both.
inline TopologyGraph broken(const TopologyGraph& graph, const TopologyLink& link, bool whole, bool both) {
  std::vector<TopologyLink> left;
  for (TopologyLink other : graph.links()) {
    const bool there = other.from == link.from && other.to == link.to;
    const bool back = other.from == link.to && other.to == link.from;
    if (other.cls == link.cls && (there || (back && both))) {
      if (whole || other.count == 1) continue;
      other.kBps -= other.kBps / other.count;
      --other.count;
    }
    left.push_back(other);
  }
  return {{graph.nodes().begin(), graph.nodes().end()}, std::move(left)};
}

/// A link of each class, count, bandwidth and kind of ends.
inline std::vector<TopologyLink> one_of_each_kind(const TopologyGraph& graph) {
  std::set<std::tuple<LinkClass, int, int64_t, NodeKind, NodeKind>> seen;
  std::vector<TopologyLink> links;
  for (const TopologyLink& link : graph.links())
    if (seen.emplace(link.cls, link.count, link.kBps, graph.node(link.from).kind, graph.node(link.to).kind)
            .second)
      links.push_back(link);
  return links;
}

}  // namespace rondo::test
