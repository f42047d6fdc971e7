// SPDX-License-Identifier: Apache-2.0
#include "graph/topology_graph.h"

#include <algorithm>
#include <utility>

namespace rondo {

const char* link_class_name(LinkClass cls) {
  switch (cls) {
    case LinkClass::NvLink: return "NVLink";
    case LinkClass::Xgmi: return "xGMI";
    case LinkClass::C2C: return "C2C";
    case LinkClass::Pcie: return "PCIe";
    case LinkClass::Socket: return "socket";
    case LinkClass::Network: return "network";
  }
  return "?";
}

TopologyGraph::TopologyGraph(std::vector<TopologyNode> nodes, std::vector<TopologyLink> links,
                             std::vector<std::string> repairs)
    : nodes_(std::move(nodes)), links_(std::move(links)), repairs_(std::move(repairs)) {
  for (size_t i = 0; i != nodes_.size(); ++i) {
    const TopologyNode& node = nodes_[i];
    hosts_ = std::max(hosts_, node.host + 1);
    if (node.kind == NodeKind::Gpu) gpus_.push_back(static_cast<int>(i));
    if (node.kind == NodeKind::Nic) nics_.push_back(static_cast<int>(i));
  }
  std::ranges::stable_sort(gpus_, {}, [this](int gpu) { return std::pair(node(gpu).host, node(gpu).dev); });
  first_leaving_.assign(nodes_.size() + 1, 0);
  for (const TopologyLink& link : links_) ++first_leaving_[static_cast<size_t>(link.from) + 1];
  for (size_t i = 1; i != first_leaving_.size(); ++i) first_leaving_[i] += first_leaving_[i - 1];
  leaving_.resize(links_.size());
  std::vector<int> next = first_leaving_;
  for (size_t i = 0; i != links_.size(); ++i)
    leaving_[static_cast<size_t>(next[static_cast<size_t>(links_[i].from)]++)] = static_cast<int>(i);
}

TopologyGraph TopologyGraph::reversed() const {
  std::vector<TopologyLink> links = links_;
  for (TopologyLink& link : links) std::swap(link.from, link.to);
  return {nodes_, std::move(links), repairs_};
}

std::span<const int> TopologyGraph::links_from(int node) const {
  const auto first = static_cast<size_t>(first_leaving_[static_cast<size_t>(node)]);
  const auto end = static_cast<size_t>(first_leaving_[static_cast<size_t>(node) + 1]);
  return std::span(leaving_).subspan(first, end - first);
}

}  // namespace rondo
