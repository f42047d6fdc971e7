// SPDX-License-Identifier: Apache-2.0
#include "describe_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace rondo {
namespace {

/// "a", "a and b", "a, b and c"
std::string listed(std::span<const std::string> items) {
  std::string text;
  for (size_t i = 0; i != items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return text;
}

/// Ascending numbers with the prefix, three and more in a row together: "gpu0-gpu3", "gpu6".
void add_ranges(std::vector<std::string>& items, const std::string& prefix, std::span<const int> numbers) {
  for (size_t first = 0; first != numbers.size();) {
    size_t end = first + 1;
    while (end != numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - first < 3) end = first + 1;
    items.push_back(prefix + std::to_string(numbers[first]));
    if (end - first > 1) items.back() += "-" + prefix + std::to_string(numbers[end - 1]);
    first = end;
  }
}

std::string gigabytes(int64_t kBps) { return fmt::format("{:.1f} GB/s", static_cast<double>(kBps) / 1e6); }

class CutText {
 public:
  CutText(const TopologyGraph& graph, const UsableLinks& links, std::span<const int> gpus,
          const RatioCut& cut)
      : graph_(graph), links_(links), gpus_(gpus), cut_(cut) {}

  std::string text(std::span<const int> leaving) const {
    if (leaving.empty()) return fmt::format("nothing leads from {} to {}", gpu_names(true), gpu_names(false));
    int64_t kBps = 0;
    for (const int link : leaving) kBps += links_.kBps[static_cast<size_t>(link)];
    return fmt::format("{} {}, {}{}{}", inventory(leaving), place(leaving), gigabytes(kBps), alike(),
                       cause(leaving));
  }

 private:
  bool is_inside(int node) const { return cut_.inside[static_cast<size_t>(node)]; }

  /// "6 NVLinks and 1 PCIe link"
  std::string inventory(std::span<const int> links) const {
    std::map<std::pair<LinkClass, bool>, int> counts;  // apart: PCIe links of NICs
    for (const int index : links) {
      const TopologyLink& link = graph_.link(index);
      const bool is_pcie = link.cls == LinkClass::Pcie;  // its count is lanes
      const bool of_nic = is_pcie && (graph_.node(link.from).kind == NodeKind::Nic ||
                                      graph_.node(link.to).kind == NodeKind::Nic);
      counts[{link.cls, of_nic}] += is_pcie ? 1 : link.count;
    }
    std::vector<std::string> items;
    for (const auto& [what, count] : counts)
      items.push_back(fmt::format("{} {}{}{}{}", count, link_class_name(what.first),
                                  what.first == LinkClass::NvLink ? "" : " link", count == 1 ? "" : "s",
                                  !what.second ? ""
                                  : count == 1 ? " of a NIC"
                                               : " of NICs"));
    return listed(items);
  }

  std::string place(std::span<const int> links) const {
    if (cut_.shape == CutShape::IntoGpu) return "into " + gpu_names(false);
    if (cut_.shape == CutShape::OutOfGpu) return "out of " + gpu_names(true);
    const std::string ends = common_ends(links);
    if (!ends.empty()) return ends;
    const auto inside = std::ranges::count_if(gpus_, [this](int gpu) { return is_inside(gpu); });
    return 2 * inside < std::ssize(gpus_) ? "out of " + gpu_names(true) : "into " + gpu_names(false);
  }

  /// By the nodes that all of the links have in common; empty: there are none.
  std::string common_ends(std::span<const int> links) const {
    std::set<int> from, to;
    for (const int link : links) {
      from.insert(graph_.link(link).from);
      to.insert(graph_.link(link).to);
    }
    const TopologyNode& first = graph_.node(*from.begin());
    const TopologyNode& last = graph_.node(*to.begin());
    if (from.size() == 1 && to.size() == 1) return fmt::format("from {} to {}", first.name, last.name);
    if (to.size() == 1 && last.kind != NodeKind::Network) return "into " + last.name;
    if (from.size() == 1 && first.kind != NodeKind::Network) return "out of " + first.name;
    return "";
  }

  /// The GPUs on one side: a host by its name if all of its GPUs that take part are on that side.
  std::string gpu_names(bool inside) const {
    std::map<int, std::vector<int>> devs;  // by host
    std::set<int> hosts, whole;
    for (const int gpu : gpus_) {
      hosts.insert(graph_.node(gpu).host);
      if (is_inside(gpu) == inside) devs[graph_.node(gpu).host].push_back(graph_.node(gpu).dev);
    }
    if (hosts.size() > 1) whole = hosts;
    for (const int gpu : gpus_)
      if (is_inside(gpu) != inside) whole.erase(graph_.node(gpu).host);
    std::vector<std::string> items;
    add_ranges(items, "host", std::vector<int>(whole.begin(), whole.end()));
    for (auto& [host, numbers] : devs) {
      if (whole.contains(host)) continue;
      std::ranges::sort(numbers);
      add_ranges(items, hosts.size() > 1 ? fmt::format("host{}/gpu", host) : std::string("gpu"), numbers);
    }
    return listed(items);
  }

  /// If links are trimmed, those on the narrower side of the switches that they were trimmed for.
  std::string cause(std::span<const int> leaving) const {
    std::set<int> narrow;
    std::set<std::pair<int, bool>> visited;
    for (const int link : leaving) add_cause(link, narrow, visited);
    if (narrow.empty()) return "";
    const std::vector<int> links(narrow.begin(), narrow.end());
    int64_t kBps = 0;
    for (const int link : links) kBps += graph_.link(link).kBps;
    const std::string ends = common_ends(links);
    return fmt::format(": a share of {}{}{}, {}", inventory(links), ends.empty() ? "" : " ", ends,
                       gigabytes(kBps));
  }

  /// `visited` has nodes, and whether it is what leaves them that is narrow.
  void add_cause(int link, std::set<int>& narrow, std::set<std::pair<int, bool>>& visited) const {
    const int node = links_.trimmed_by[static_cast<size_t>(link)];
    const bool leaves = graph_.link(link).to == node;
    if (node < 0 || !visited.emplace(node, leaves).second) return;
    for (size_t i = 0; i != graph_.links().size(); ++i) {
      if ((leaves ? graph_.links()[i].from : graph_.links()[i].to) != node || links_.kBps[i] == 0) continue;
      if (links_.trimmed_by[i] < 0)
        narrow.insert(static_cast<int>(i));
      else
        add_cause(static_cast<int>(i), narrow, visited);
    }
  }

  std::string alike() const {
    if (cut_.alike < 2) return "";
    const bool gpus = cut_.shape == CutShape::IntoGpu || cut_.shape == CutShape::OutOfGpu;
    return fmt::format(", as for each of {} {}", cut_.alike, gpus ? "GPUs" : "hosts");
  }

  const TopologyGraph& graph_;
  const UsableLinks& links_;
  const std::span<const int> gpus_;
  const RatioCut& cut_;
};

}  // namespace

std::string describe_cut(const TopologyGraph& graph, const UsableLinks& links, std::span<const int> gpus,
                         const RatioCut& cut, std::span<const int> leaving) {
  return CutText(graph, links, gpus, cut).text(leaving);
}

}  // namespace rondo
