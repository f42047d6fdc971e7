// SPDX-License-Identifier: Apache-2.0
#include "machine_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>

namespace rondo::topo {
const char* colour_of(const std::string& link_class) {
  static const std::map<std::string, const char*> kColours = {{"NVLink", "#2e7d32"}, {"xGMI", "#2e7d32"},
                                                              {"C2C", "#00838f"},    {"PCIe", "#546e7a"},
                                                              {"socket", "#c62828"}, {"network", "#6a1b9a"}};
  return kColours.at(link_class);
}

std::string gigabytes(double bandwidth) { return fmt::format("{:.1f}", bandwidth); }

std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : printable(text))
    result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return result;
}

MachineView::MachineView(rondo_topology_t topology) {
  int node_count = 0, link_count = 0, remark_count = 0;
  require(rondo_topology_counts(topology, &node_count, &link_count, &remark_count));
  for (int i = 0; i != node_count; ++i) {
    rondo_topology_node_t node = {};
    node.size = sizeof(node);
    require(rondo_topology_node(topology, i, &node));
    nodes.push_back({node.kind, node.name, node.bus_id, node.host, {}});
  }
  for (int i = 0; i != link_count; ++i) {
    rondo_topology_link_t link = {};
    link.size = sizeof(link);
    require(rondo_topology_link(topology, i, &link));
    nodes[static_cast<size_t>(link.from)].links.push_back(
        {link.to, link.link_class, link.count, link.bandwidth});
  }
  for (int i = 0; i != remark_count; ++i) {
    const char* text = nullptr;
    require(rondo_topology_remark(topology, i, &text));
    remarks.emplace_back(text);
  }
  // Downwards from the CPUs, by PCIe links alone.
  std::deque<int> next;
  for (const int numa : of_kind("NUMA")) next.push_back(numa);
  for (; !next.empty(); next.pop_front()) {
    ViewedNode& node = nodes[static_cast<size_t>(next.front())];
    if (node.kind == "GPU" || node.kind == "NIC") continue;
    for (const ViewedLink& link : node.links) {
      ViewedNode& other = nodes[static_cast<size_t>(link.to)];
      if (link.cls != "PCIe" || other.above >= 0 || other.kind == "NUMA") continue;
      other.above = next.front();
      node.below.push_back(link.to);
      next.push_back(link.to);
    }
  }
}

std::vector<int> MachineView::of_kind(const std::string& kind) const {
  std::vector<int> result;
  for (size_t i = 0; i != nodes.size(); ++i)
    if (nodes[i].kind == kind) result.push_back(static_cast<int>(i));
  return result;
}

}  // namespace rondo::topo
