// SPDX-License-Identifier: Apache-2.0
#include "plan_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "graph_report.h"

namespace rondo::topo {
namespace {

/// The lines of flows, by flow and link.
class LinesByFlow {
 public:
  explicit LinesByFlow(rondo_topology_t topology) : topology_(topology) {}

  void add(int flow, int link_index, double bandwidth) {
    rondo_topology_link_t link = {};
    link.size = sizeof(link);
    require(rondo_topology_link(topology_, link_index, &link));
    PlanLine& line = lines_[flow].try_emplace(link_index, PlanLine{link.from, link.to, 0}).first->second;
    line.bandwidth += bandwidth;
  }

  std::vector<PlanLine> of(int flow) {
    std::vector<PlanLine> found;
    for (const auto& [link, line] : lines_[flow]) found.push_back(line);
    return found;
  }

 private:
  rondo_topology_t topology_;
  std::map<int, std::map<int, PlanLine>> lines_;
};

std::string counted(size_t number, const std::string& what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

struct TreeExtent {
  int parts = 0;  // of the root's block
  int depth = 0;
};

}  // namespace

PlanView trees_of_plan(rondo_topology_t topology, const MachineView& machine, int root) {
  const std::vector<int> gpus = machine.of_kind("GPU");
  const int root_node = gpus.at(static_cast<size_t>(root));
  const std::string& name = machine.nodes[static_cast<size_t>(root_node)].name;
  rondo_topology_plan_t plan = {};
  plan.size = sizeof(plan);
  require(rondo_topology_plan(topology, 0, &plan));
  const double block = gpus.size() > 1 ? plan.bandwidth / static_cast<double>(gpus.size() - 1) : 0;

  LinesByFlow lines(topology);
  std::map<int, TreeExtent> trees;
  rondo_topology_plan_hop_t hop = {};
  hop.size = sizeof(hop);
  for (int i = 0; require(rondo_topology_plan_hop(topology, 0, i, &hop)), hop.tree >= 0; ++i) {
    if (hop.root != root_node) continue;
    TreeExtent& tree = trees[hop.tree];
    tree = {hop.parts, std::max(tree.depth, hop.depth)};
    lines.add(hop.tree, hop.link, hop.bandwidth);
  }
  PlanView view;
  for (const auto& [index, tree] : trees) {
    const std::string flow = fmt::format("tree {}", view.flows.size() + 1);
    const std::string share = tree.parts == plan.parts_per_root
                                  ? "all"
                                  : fmt::format("{} of {} parts", tree.parts, plan.parts_per_root);
    const double carried = block * tree.parts / plan.parts_per_root;
    view.flows.push_back({flow,
                          fmt::format("{}: {} of {}'s block, {} GB/s, depth {}", flow, share, name,
                                      gigabytes(carried), tree.depth),
                          lines.of(index)});
  }
  view.text = fmt::format("{} from {}, of a plan for all_gather at {} GB/s", counted(trees.size(), "tree"),
                          name, gigabytes(plan.bandwidth));
  view.idle = "crossed by no tree of " + name;
  return view;
}

PlanView fastest_rings(rondo_topology_t topology, const MachineView& machine) {
  LinesByFlow lines(topology);
  rondo_topology_ring_hop_t hop = {};
  hop.size = sizeof(hop);
  for (int i = 0; require(rondo_topology_ring_hop(topology, 0, i, &hop)), hop.channel >= 0; ++i)
    lines.add(hop.channel, hop.link, hop.bandwidth);
  rondo_topology_rings_t rings = {};
  rings.size = sizeof(rings);
  require(rondo_topology_rings(topology, 0, &rings));
  PlanView view;
  for (int channel = 0; channel != rings.channels; ++channel)
    view.flows.push_back(
        {fmt::format("channel {}", channel), channel_text(machine, topology, channel), lines.of(channel)});
  view.text = fmt::format("{} at {} GB/s", counted(view.flows.size(), "ring"), gigabytes(rings.bandwidth));
  view.idle = "crossed by no ring";
  return view;
}

const char* flow_colour(size_t flow) {
  static constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                          "#e69f00", "#56b4e9", "#000000", "#8b4513"};
  return kColours[flow % kColours.size()];
}

}  // namespace rondo::topo
