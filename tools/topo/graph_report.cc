// SPDX-License-Identifier: Apache-2.0
#include "graph_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace rondo::topo {
namespace {

/// "0 3 2 1"; between hosts "host0/gpu1 (host0/nic mlx5_0, host1/nic mlx5_0) host1/gpu0".
std::string order_text(const MachineView& machine, const rondo_topology_ring_t& ring) {
  const bool several_hosts =
      machine.nodes.back().host > 0 || machine.nodes[0].name.find('/') != std::string::npos;
  std::string text;
  bool in_brackets = false;
  for (int i = 0; i != ring.length; ++i) {
    const ViewedNode& node = machine.nodes[static_cast<size_t>(ring.nodes[i])];
    const bool is_nic = node.kind == "NIC";
    if (!text.empty()) text += is_nic && in_brackets ? ", " : " ";
    if (is_nic && !in_brackets) text += "(";
    text += several_hosts ? node.name : node.name.substr(std::string("gpu").size());
    if (is_nic && in_brackets) text += ")";
    in_brackets = is_nic && !in_brackets;
  }
  return text;
}

std::string channels_text(int channels) {
  return fmt::format("{} channel{}", channels, channels == 1 ? "" : "s");
}

}  // namespace

std::string channel_text(const MachineView& machine, rondo_topology_t topology, int channel) {
  rondo_topology_ring_t ring = {};
  ring.size = sizeof(ring);
  require(rondo_topology_ring(topology, 0, channel, &ring));
  return fmt::format("channel {}: {}, {} GB/s", channel, order_text(machine, ring),
                     gigabytes(ring.bandwidth));
}

std::string ring_table(const MachineView& machine, rondo_topology_t topology) {
  rondo_topology_rings_t rings = {};
  rings.size = sizeof(rings);
  require(rondo_topology_rings(topology, 0, &rings));
  std::string text;
  for (int i = 0; i != rings.channels; ++i) text += channel_text(machine, topology, i) + "\n";
  rondo_topology_limit_t limit = {};
  limit.size = sizeof(limit);
  require(rondo_topology_limit(topology, "all_gather", 0, 0, &limit));
  text += fmt::format("rings: {} GB/s by {}{}\n", gigabytes(rings.bandwidth), channels_text(rings.channels),
                      rings.optimal != 0 ? "" : " (faster ones may exist)");
  text += fmt::format("limit of rings: {} GB/s; of any plan for all_gather: {} GB/s\n",
                      gigabytes(rings.ceiling), gigabytes(limit.ceiling));
  return text;
}

std::string host_trees(const MachineView& machine, rondo_topology_t topology) {
  const int hosts = std::ranges::max(machine.nodes, {}, &ViewedNode::host).host + 1;
  if (hosts < 2) return "";
  std::string text = "two trees over the hosts, each for half of a vector:\n";
  for (int host = 0; host != hosts; ++host) {
    rondo_topology_host_place_t place = {};
    place.size = sizeof(place);
    require(rondo_topology_host_place(topology, host, &place));
    const auto in = [&](int tree) {
      const int parent = place.parents[tree];
      return parent < 0 ? fmt::format("root of tree {}", tree)
                        : fmt::format("below host{} in tree {}", parent, tree);
    };
    text += fmt::format("host{}: {}, {}\n", host, in(0), in(1));
  }
  return text;
}

std::string loaded_graphs(rondo_topology_t topology, const std::string& path) {
  int first = 0, count = 0;
  require(rondo_topology_load_graphs(topology, path.c_str(), 0, &first, &count));
  std::string text;
  for (int i = first; i != first + count; ++i) {
    rondo_topology_graph_t graph = {};
    graph.size = sizeof(graph);
    require(rondo_topology_graph(topology, i, &graph));
    text += fmt::format("graph {}, {}: {}, stated {} GB/s; here ", graph.id, graph.pattern,
                        channels_text(graph.channels), gigabytes(graph.stated));
    text += graph.bandwidth > 0
                ? fmt::format("{} GB/s, limited by {}\n", gigabytes(graph.bandwidth), graph.limit)
                : fmt::format("none: {}\n", graph.limit);
  }
  return text;
}

}  // namespace rondo::topo
