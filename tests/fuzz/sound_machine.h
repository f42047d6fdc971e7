// SPDX-License-Identifier: Apache-2.0
// What holds of every Machine that a reader accepts.
#pragma once

#include "fuzz.h"
#include "graph/missing_parts.h"
#include "graph/topology_graph.h"

namespace rondo::fuzz {

inline void require_sound(const TopologyGraph& graph) {
  const auto nodes = static_cast<int>(graph.nodes().size());
  for (const TopologyLink& link : graph.links()) {
    require(link.from >= 0 && link.from < nodes && link.to >= 0 && link.to < nodes, "links join nodes");
    require(link.from != link.to, "no link joins a node to itself");
    require(link.kBps > 0, "links have a bandwidth");
  }
}

/// Its repairs are named, and its graph is sound or refused with a sentence.
inline Result<TopologyGraph> require_sound(const Machine& machine) {
  for (const std::string& sentence : machine.repairs) {
    require(sentence.starts_with(kSource), "a repair begins with the name of the input");
    for (const unsigned char c : sentence)
      require(c >= ' ' && c != 0x7f, "a repair is plain text of one line");
  }
  missing_parts(machine);
  auto graph = TopologyGraph::build(machine);
  if (graph.ok())
    require_sound(graph.value());
  else
    require_named(graph.status());
  return graph;
}

}  // namespace rondo::fuzz
