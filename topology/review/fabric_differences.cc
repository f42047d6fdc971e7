// SPDX-License-Identifier: Apache-2.0
#include "fabric_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace rondo {
namespace {

/// Links from a GPU to another, to its CPU, or to all NVSwitches; GPUs by their bus ids in a.
struct FabricWay {
  std::string from;
  FabricTarget target = FabricTarget::Gpu;
  std::string to;  // empty: not a GPU
  FabricKind kind = FabricKind::NvLink;
  auto operator<=>(const FabricWay&) const = default;

  FabricWay back() const { return {to, target, from, kind}; }
};

struct LinkCounts {
  int in_a = 0, in_b = 0;
  friend bool operator==(const LinkCounts&, const LinkCounts&) = default;
};

int total(const std::vector<FabricLinks>& links) {
  int count = 0;
  for (const FabricLinks& some : links) count += some.count;
  return count;
}

class FabricComparison {
 public:
  FabricComparison(const Machine& a, const Machine& b, const Matching& matching) : matching_(matching) {
    for (const MachinePart& gpu : parts_of(a, PartKind::Gpu)) names_[gpu.device->bus_id] = gpu.name;
    for (const MachinePart& gpu : parts_of(a, PartKind::Gpu)) {
      if (matching.in_b(gpu.device->bus_id) == nullptr) continue;
      for (const FabricLinks& links : gpu.device->gpu->links)
        if (const auto way = way_of(gpu.device->bus_id, links, links.target_bus_id))
          counts_[*way].in_a += links.count;
    }
    for (const MachinePart& gpu : parts_of(b, PartKind::Gpu)) {
      if (!matching.bus_ids.contains(gpu.device->bus_id)) continue;
      for (const FabricLinks& links : gpu.device->gpu->links)
        if (const auto way =
                way_of(matching.in_a(gpu.device->bus_id), links, matching.in_a(links.target_bus_id)))
          counts_[*way].in_b += links.count;
    }
  }

  std::vector<MachineFinding> findings() const {
    std::vector<MachineFinding> result;
    std::set<FabricWay> said;
    for (const auto& [way, counts] : counts_) {
      if (counts.in_a == counts.in_b || !said.insert(way).second) continue;
      const auto back = way.target == FabricTarget::Gpu ? counts_.find(way.back()) : counts_.end();
      const bool both_ways = back != counts_.end() && back->second == counts && way.from != way.to;
      if (both_ways) said.insert(way.back());
      result.push_back(finding(way, counts, both_ways));
    }
    return result;
  }

 private:
  /// Nothing if they lead to what only one of the machines has.
  std::optional<FabricWay> way_of(const std::string& from, const FabricLinks& links,
                                  const std::string& to) const {
    FabricWay way = {from, links.target, "", links.kind};
    if (links.target != FabricTarget::Gpu) return way;
    if (!names_.contains(to) || matching_.in_b(to) == nullptr) return std::nullopt;
    way.to = to;
    return way;
  }

  MachineFinding finding(const FabricWay& way, LinkCounts counts, bool both_ways) const {
    const std::string& from = names_.at(way.from);
    const std::string to = way.target == FabricTarget::Gpu   ? names_.at(way.to)
                           : way.target == FabricTarget::Cpu ? "its CPU"
                                                             : "the NVSwitches";
    const std::string what = fmt::format("{} instead of {}", links_text(counts.in_b, way.kind), counts.in_a);
    std::vector<std::pair<std::string, std::vector<FabricLinks>>> wanted;
    wanted.emplace_back(way.from, links_in_b(way));
    if (both_ways) wanted.emplace_back(way.to, links_in_b(way.back()));
    const bool one_way = way.target == FabricTarget::Gpu && !both_ways;
    const std::string ends =
        one_way ? fmt::format("from {} to {}", from, to) : fmt::format("between {} and {}", from, to);
    return {what + " " + ends, "", [way, wanted](Machine& machine) {
              for (const auto& [gpu, links] : wanted)
                replace(machine, gpu, way.target, way.kind,
                        way.target != FabricTarget::Gpu ? ""
                        : gpu == way.from               ? way.to
                                                        : way.from,
                        links);
            }};
  }

  /// The links of b that are counted as this way, as a would say it.
  std::vector<FabricLinks> links_in_b(const FabricWay& way) const {
    std::vector<FabricLinks> result;
    for (FabricLinks links : matching_.in_b(way.from)->device->gpu->links) {
      links.target_bus_id = matching_.in_a(links.target_bus_id);
      if (links.target == way.target && links.kind == way.kind &&
          (way.target != FabricTarget::Gpu || links.target_bus_id == way.to))
        result.push_back(std::move(links));
    }
    return result;
  }

  static void replace(Machine& machine, const std::string& gpu, FabricTarget target, FabricKind kind,
                      const std::string& to, const std::vector<FabricLinks>& wanted) {
    PciDevice* const device = find_device(machine, gpu);
    if (device == nullptr || !device->gpu) return;
    std::vector<FabricLinks>& links = device->gpu->links;
    const auto is_meant = [&](const FabricLinks& some) {
      return some.target == target && some.kind == kind &&
             (target != FabricTarget::Gpu || some.target_bus_id == to);
    };
    if (target == FabricTarget::NvSwitch && !same_switches(links, wanted)) {
      resize_links(links, total(wanted), is_meant);
      if (std::ranges::any_of(links, is_meant) || wanted.empty()) return;
    }
    std::erase_if(links, is_meant);
    links.insert(links.end(), wanted.begin(), wanted.end());
  }

  /// Whether the switches that links lead to are known.
  static bool same_switches(const std::vector<FabricLinks>& known, const std::vector<FabricLinks>& links) {
    return std::ranges::all_of(links, [&](const FabricLinks& some) {
      return std::ranges::find(known, some.target_bus_id, &FabricLinks::target_bus_id) != known.end();
    });
  }

  /// Takes links one by one from the widest, or gives it more.
  template <typename IsMeant>
  static void resize_links(std::vector<FabricLinks>& links, int count, IsMeant is_meant) {
    int present = 0;
    for (const FabricLinks& some : links) present += is_meant(some) ? some.count : 0;
    for (; present != count; present += present < count ? 1 : -1) {
      FabricLinks* widest = nullptr;
      for (FabricLinks& some : links)
        if (is_meant(some) && (widest == nullptr || some.count > widest->count)) widest = &some;
      if (widest == nullptr) return;
      widest->count += present < count ? 1 : -1;
    }
    std::erase_if(links, [](const FabricLinks& some) { return some.count == 0; });
  }

  const Matching& matching_;
  std::map<std::string, std::string> names_;  // of a's GPUs, by bus id
  std::map<FabricWay, LinkCounts> counts_;
};

}  // namespace

std::vector<MachineFinding> fabric_differences(const Machine& a, const Machine& b, const Matching& matching) {
  return FabricComparison(a, b, matching).findings();
}

}  // namespace rondo
