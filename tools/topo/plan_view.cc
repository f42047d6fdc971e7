// SPDX-License-Identifier: Apache-2.0
#include "plan_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace rondo::topo {

PlanView::PlanView(rondo_topology_t topology, const MachineView& machine, int root_number) {
  const std::vector<int> gpus = machine.of_kind("GPU");
  const int root_node = gpus.at(static_cast<size_t>(root_number));
  root = machine.nodes[static_cast<size_t>(root_node)].name;
  rondo_topology_plan_t plan = {};
  plan.size = sizeof(plan);
  require(rondo_topology_plan(topology, 0, &plan));
  parts_per_root = plan.parts_per_root;
  bandwidth = plan.bandwidth;
  root_bandwidth = gpus.size() > 1 ? plan.bandwidth / static_cast<double>(gpus.size() - 1) : 0;

  std::map<int, std::map<int, PlanLine>> lines;  // by tree, by link
  std::map<int, PlanTree> found;
  for (int i = 0;; ++i) {
    rondo_topology_plan_hop_t hop = {};
    hop.size = sizeof(hop);
    require(rondo_topology_plan_hop(topology, 0, i, &hop));
    if (hop.tree < 0) break;
    if (hop.root != root_node) continue;
    rondo_topology_link_t link = {};
    link.size = sizeof(link);
    require(rondo_topology_link(topology, hop.link, &link));
    found[hop.tree].parts = hop.parts;
    found[hop.tree].depth = std::max(found[hop.tree].depth, hop.depth);
    PlanLine& line = lines[hop.tree].try_emplace(hop.link, PlanLine{link.from, link.to, 0}).first->second;
    line.bandwidth += hop.bandwidth;
  }
  for (auto& [index, tree] : found) {
    for (const auto& [link, line] : lines[index]) tree.lines.push_back(line);
    trees.push_back(std::move(tree));
  }
}

std::string PlanView::tree_text(size_t tree) const {
  const PlanTree& one = trees[tree];
  const std::string share =
      one.parts == parts_per_root ? "all" : fmt::format("{} of {} parts", one.parts, parts_per_root);
  return fmt::format("tree {}: {} of {}'s block, {} GB/s, depth {}", tree + 1, share, root,
                     gigabytes(root_bandwidth * one.parts / parts_per_root), one.depth);
}

std::string PlanView::text() const {
  return fmt::format("{} tree{} from {}, of a plan for all_gather at {} GB/s", trees.size(),
                     trees.size() == 1 ? "" : "s", root, gigabytes(bandwidth));
}

const char* tree_colour(size_t tree) {
  static constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                          "#e69f00", "#56b4e9", "#000000", "#8b4513"};
  return kColours[tree % kColours.size()];
}

}  // namespace rondo::topo
