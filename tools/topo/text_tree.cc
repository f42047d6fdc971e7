// SPDX-License-Identifier: Apache-2.0
#include "text_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace rondo::topo {
namespace {

constexpr size_t kNameColumns = 44;

std::string count_text(size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// "NVLink x18 370.8 to nvswitch, xGMI x1 48.0 to gpu1 gpu2": all links but those of the PCI tree.
std::string joined_text(const MachineView& machine, const ViewedNode& node) {
  // Links that differ in their ends alone are said once.
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const ViewedLink& link : node.links) {
    if (link.to == node.above || machine.nodes[static_cast<size_t>(link.to)].above == link.to) continue;
    if (link.cls == "PCIe") continue;
    const bool counted = link.cls != "socket" && link.cls != "network";
    const std::string what = fmt::format("{}{} {}", link.cls, counted ? fmt::format(" x{}", link.count) : "",
                                         gigabytes(link.bandwidth));
    const auto known = std::ranges::find(groups, what, &std::pair<std::string, std::vector<int>>::first);
    if (known == groups.end())
      groups.push_back({what, {link.to}});
    else
      known->second.push_back(link.to);
  }
  std::string text;
  for (const auto& [what, ends] : groups) {
    std::string names;
    for (const int end : ends)
      names += (names.empty() ? "" : " ") + machine.nodes[static_cast<size_t>(end)].name;
    text += fmt::format("{}{} to {}", text.empty() ? "" : ", ", what, names);
  }
  return text;
}

std::string pcie_text(const MachineView& machine, const ViewedNode& node) {
  if (node.above < 0) return "";
  for (const ViewedLink& link : node.links)
    if (link.to == node.above) return fmt::format("PCIe x{} {}", link.count, gigabytes(link.bandwidth));
  // Of a switch that nothing turns around in: its other half goes up.
  for (const ViewedLink& link : machine.nodes[static_cast<size_t>(node.above)].links)
    if (machine.nodes[static_cast<size_t>(link.to)].name == node.name)
      return fmt::format("PCIe x{} {}", link.count, gigabytes(link.bandwidth));
  return "";
}

/// Characters, not bytes: the lines of the tree are longer in bytes.
std::string padded(const std::string& text) {
  const auto characters =
      static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
  return text + std::string(characters < kNameColumns ? kNameColumns - characters : 1, ' ');
}

void append(const MachineView& machine, int index, const std::string& own, const std::string& rest,
            std::string& text) {
  const ViewedNode& node = machine.nodes[static_cast<size_t>(index)];
  std::string line = own + node.name;
  if (!node.bus_id.empty() && node.name.find(node.bus_id) == std::string::npos) line += " " + node.bus_id;
  const std::string pcie = pcie_text(machine, node), others = joined_text(machine, node);
  if (!pcie.empty() || !others.empty())
    line = padded(line) + pcie + (pcie.empty() || others.empty() ? "" : ", ") + others;
  text += line + "\n";
  for (size_t i = 0; i != node.below.size(); ++i) {
    const bool last = i + 1 == node.below.size();
    append(machine, node.below[i], rest + (last ? "└─ " : "├─ "), rest + (last ? "   " : "│  "), text);
  }
}

/// A short name for the heading of a column: "gpu0", "mlx5_0".
std::string short_name(const ViewedNode& node) {
  return node.kind == "NIC" ? node.name.substr(node.name.find("nic ") + 4) : node.name;
}

/// What the figure of a limit does not say; `reached`: what a plan is known to reach.
std::string reservation(const rondo_topology_limit_t& limit, double reached) {
  if (reached > limit.bandwidth)
    return fmt::format(" (if switches share evenly, {}; no plan exceeds {})", gigabytes(limit.bandwidth),
                       gigabytes(std::max(limit.ceiling, reached)));
  if (limit.reached == 0) return " (plans may not reach it)";
  return limit.ceiling > limit.bandwidth
             ? fmt::format(" (other plans may reach up to {})", gigabytes(limit.ceiling))
             : "";
}

}  // namespace

std::string text_tree(const MachineView& machine) {
  std::string text =
      fmt::format("{}, {}, {}; GB/s each way\n", count_text(machine.of_kind("GPU").size(), "GPU"),
                  count_text(machine.of_kind("NIC").size(), "NIC"),
                  count_text(machine.of_kind("NUMA").size(), "NUMA node"));
  for (const int numa : machine.of_kind("NUMA")) append(machine, numa, "", "", text);
  for (const std::string& remark : machine.remarks) text += "note: " + remark + "\n";
  return text;
}

namespace {

/// The texts of a table's cells: few differ, and a large table has millions.
class CellTexts {
 public:
  int number_of(const rondo_topology_path_t& path) {
    const auto [known, is_new] =
        numbers_.emplace(std::tuple(path.path_class, path.bandwidth), static_cast<int>(texts_.size()));
    if (is_new)
      texts_.push_back(path.hops == 0 ? path.path_class
                                      : fmt::format("{} {}", path.path_class, gigabytes(path.bandwidth)));
    return known->second;
  }
  const std::string& text(int number) const { return texts_[static_cast<size_t>(number)]; }

 private:
  std::map<std::tuple<std::string_view, double>, int> numbers_;
  std::vector<std::string> texts_;
};

std::vector<int> path_cells(rondo_topology_t topology, int gpu, const std::vector<int>& columns,
                            CellTexts& texts) {
  std::vector<int> cells;
  cells.reserve(columns.size());
  for (const int column : columns) {
    rondo_topology_path_t path = {};
    path.size = sizeof(path);
    require(rondo_topology_path(topology, gpu, column, &path));
    cells.push_back(texts.number_of(path));
  }
  return cells;
}

}  // namespace

void print_path_table(const MachineView& machine, rondo_topology_t topology) {
  const auto name = [&](int node) { return machine.nodes[static_cast<size_t>(node)].name; };
  const std::vector<int> gpus = machine.of_kind("GPU");
  std::vector<int> columns = gpus;
  for (const int nic : machine.of_kind("NIC")) columns.push_back(nic);
  std::vector<std::string> heading;
  for (const int column : columns) heading.push_back(short_name(machine.nodes[static_cast<size_t>(column)]));
  CellTexts texts;
  std::vector<std::vector<int>> rows;
  for (const int gpu : gpus) rows.push_back(path_cells(topology, gpu, columns, texts));

  size_t first_width = 0;
  std::vector<size_t> widths(columns.size());
  for (size_t row = 0; row != rows.size(); ++row) {
    first_width = std::max(first_width, name(gpus[row]).size());
    for (size_t i = 0; i != columns.size(); ++i)
      widths[i] = std::max({widths[i], heading[i].size(), texts.text(rows[row][i]).size()});
  }
  const auto print_row = [&](const std::string& first, const auto& text_of) {
    std::string line = fmt::format("{:<{}}", first, columns.empty() ? 0 : first_width + 2);
    for (size_t i = 0; i != columns.size(); ++i)
      line += fmt::format("{:<{}}", text_of(i), i + 1 == columns.size() ? 0 : widths[i] + 2);
    fmt::print("{}\n", line);
  };
  print_row("", [&](size_t i) -> const std::string& { return heading[i]; });
  for (size_t row = 0; row != rows.size(); ++row)
    print_row(name(gpus[row]), [&](size_t i) -> const std::string& { return texts.text(rows[row][i]); });
}

std::string limit_table(rondo_topology_t topology) {
  rondo_topology_plan_t plan = {};
  plan.size = sizeof(plan);
  const rondo_status_t planned = rondo_topology_plan(topology, 0, &plan);
  const std::string no_plan = planned == RONDO_OK ? "" : rondo_last_error(nullptr);
  std::string text =
      fmt::format("{:<16}{:>10}{:>16}  limited by\n", "bus bandwidth", "GB/s", "with all links");
  for (const char* collective : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                 "gather", "scatter", "all_to_all"}) {
    rondo_topology_limit_t limit = {}, all = {};
    limit.size = all.size = sizeof(limit);
    require(rondo_topology_limit(topology, collective, 0, 0, &limit));
    require(rondo_topology_limit(topology, collective, 0, 1, &all));
    // Plans may share links better than evenly; a limit below one would be none.
    const double reached = collective == std::string_view("all_gather") ? plan.bandwidth : 0;
    text +=
        fmt::format("{:<16}{:>10}{:>16}  {}{}\n", collective, gigabytes(std::max(limit.bandwidth, reached)),
                    gigabytes(std::max(all.bandwidth, reached)), limit.limit, reservation(limit, reached));
  }
  if (planned != RONDO_OK)
    text += fmt::format("plan for all_gather: none: {}\n", no_plan);
  else
    text += fmt::format("plan for all_gather: {} GB/s by {} trees, {} part{} of each block, depth {}{}\n",
                        gigabytes(plan.bandwidth), plan.trees, plan.parts_per_root,
                        plan.parts_per_root == 1 ? "" : "s", plan.depth,
                        plan.complete != 0 ? "" : " (the search reached its limit)");
  rondo_topology_stars_t stars = {};
  stars.size = sizeof(stars);
  if (rondo_topology_stars(topology, &stars) == RONDO_OK)
    text += fmt::format(
        "all_reduce combined by the NVSwitches: {} GB/s by {} heads, of at most {} GB/s (a "
        "model; nothing carries it out yet)\n",
        gigabytes(stars.bandwidth), stars.heads, gigabytes(stars.ceiling));
  return text;
}

namespace {

/// What a plan is, and a line for each tree or ring in its colour: Graphviz's HTML.
std::string dot_legend(const PlanView& plan) {
  std::string text = fmt::format("  label=<{}<br/>", escaped(plan.text));
  for (size_t flow = 0; flow != plan.flows.size(); ++flow)
    text += fmt::format("\n    <font color=\"{}\">{}</font><br align=\"left\"/>", flow_colour(flow),
                        escaped(plan.flows[flow].text));
  return text + ">;\n";
}

}  // namespace

std::string dot_graph(const MachineView& machine, const PlanView* plan) {
  std::string text = "graph machine {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  if (plan != nullptr) text += dot_legend(*plan);
  for (size_t i = 0; i != machine.nodes.size(); ++i)
    text += fmt::format("  n{} [label=\"{}\"];\n", i, quoted(machine.nodes[i].name));
  std::set<std::pair<int, int>> crossed;
  for (size_t flow = 0; plan != nullptr && flow != plan->flows.size(); ++flow)
    for (const PlanLine& line : plan->flows[flow].lines) {
      crossed.insert(std::minmax(line.from, line.to));
      text +=
          fmt::format("  n{} -- n{} [label=\"{}\", color=\"{}\", dir=forward, tooltip=\"{}\"];\n", line.from,
                      line.to, gigabytes(line.bandwidth), flow_colour(flow), plan->flows[flow].name);
    }
  for (int i = 0; i != static_cast<int>(machine.nodes.size()); ++i)
    for (const ViewedLink& link : machine.nodes[static_cast<size_t>(i)].links) {
      const auto& back = machine.nodes[static_cast<size_t>(link.to)].links;
      const bool both = std::ranges::any_of(back, [&](const ViewedLink& other) {
        return other.to == i && other.cls == link.cls && other.bandwidth == link.bandwidth;
      });
      if ((both && link.to < i) || crossed.contains(std::minmax(i, link.to))) continue;
      text +=
          fmt::format("  n{} -- n{} [label=\"{}\", color=\"{}\"{}];\n", i, link.to, gigabytes(link.bandwidth),
                      plan != nullptr ? "#bdbdbd" : colour_of(link.cls), both ? "" : ", dir=forward");
    }
  return text + "}\n";
}

}  // namespace rondo::topo
