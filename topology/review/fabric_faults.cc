// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "fault_rules.h"

namespace rondo {
namespace {

constexpr const char* kFabricAdvice =
    "nvidia-smi nvlink -s (rocm-smi --shownodesbw) shows the links that are up, nvidia-smi nvlink -e their "
    "errors; reset the GPUs, then have the board checked";

class FabricRules {
 public:
  explicit FabricRules(const Machine& machine) : gpus_(parts_of(machine, PartKind::Gpu)) {
    for (const MachinePart& gpu : gpus_) by_bus_id_[gpu.device->bus_id] = &gpu;
  }

  void find(Faults& faults) const {
    find_links_to_itself(faults);
    find_unequal_ends(faults);
    find_missing(faults);
  }

 private:
  static int count_to(const MachinePart& gpu, const std::string& target) {
    int count = 0;
    for (const FabricLinks& links : gpu.device->gpu->links)
      if (links.target == FabricTarget::Gpu && links.target_bus_id == target) count += links.count;
    return count;
  }

  /// If such GPUs can be taken two by two, the links of each pair are taken to join it, as bridges do.
  void find_links_to_itself(Faults& faults) const {
    std::vector<MachinePart> some;
    int links = 0;
    FabricKind kind = FabricKind::NvLink;
    for (const MachinePart& gpu : gpus_) {
      const int own = count_to(gpu, gpu.device->bus_id);
      if (own == 0) continue;
      links += own;
      kind = kind_of(gpu);
      some.push_back(gpu);
    }
    if (some.empty()) return;
    std::ranges::sort(some, {}, [](const MachinePart& gpu) { return gpu.device->gpu->dev; });
    std::map<std::string, std::string> peers;
    std::string pairs;
    for (size_t i = 0; some.size() % 2 == 0 && i != some.size(); i += 2) {
      peers[some[i].device->bus_id] = some[i + 1].device->bus_id;
      peers[some[i + 1].device->bus_id] = some[i].device->bus_id;
      pairs += fmt::format("{}{}-{}", i == 0 ? "" : ", ", some[i].name, some[i + 1].name);
    }
    std::function<void(Machine&)> change;
    if (!peers.empty())
      change = [peers](Machine& machine) {
        for (const auto& [gpu, peer] : peers)
          for (FabricLinks& own : find_device(machine, gpu)->gpu->links)
            if (own.target == FabricTarget::Gpu && own.target_bus_id == gpu) own.target_bus_id = peer;
      };
    faults.push_back(
        {fmt::format("{}: {} from GPUs to themselves, which carry nothing{}", names_of(some),
                     links_text(links, kind), pairs.empty() ? "" : "; taken to be bridges of " + pairs),
         "correct the targets in the description; nvidia-smi topo -m shows what the links join", change});
  }

  static FabricKind kind_of(const MachinePart& gpu) {
    for (const FabricLinks& links : gpu.device->gpu->links)
      if (links.kind != FabricKind::C2C) return links.kind;
    return FabricKind::NvLink;
  }

  void find_unequal_ends(Faults& faults) const {
    for (const auto& [bus_id, gpu] : by_bus_id_) {
      for (const auto& [other_id, other] : by_bus_id_) {
        const int there = count_to(*gpu, other_id), back = count_to(*other, bus_id);
        if (there <= back) continue;
        faults.push_back({fmt::format("{} has {} to {}, which has {} back", gpu->name,
                                      links_text(there, kind_of(*gpu)), other->name, back),
                          kFabricAdvice,
                          [from = other_id, to = bus_id, missing = there - back, kind = kind_of(*gpu)](
                              Machine& machine) { add_links(machine, from, to, missing, kind); }});
      }
    }
  }

  static void add_links(Machine& machine, const std::string& from, const std::string& to, int count,
                        FabricKind kind) {
    FabricLinks links;
    links.kind = kind;
    links.target_bus_id = to;
    links.count = count;
    find_device(machine, from)->gpu->links.push_back(std::move(links));
  }

  /// Of links to other GPUs, those of the end that has more: the other end has a finding of its own.
  int count_all(const MachinePart& gpu) const {
    int count = 0;
    for (const FabricLinks& links : gpu.device->gpu->links)
      if (links.target == FabricTarget::NvSwitch) count += links.count;
    for (const auto& [bus_id, other] : by_bus_id_)
      if (other->device != gpu.device)
        count += std::max(count_to(gpu, bus_id), count_to(*other, gpu.device->bus_id));
    return count;
  }

  /// Fewer links than most GPUs have. Some machines give their GPUs different numbers: there no number is
  /// usual.
  void find_missing(Faults& faults) const {
    const auto expected = usual<int>(gpus_, [this](const MachinePart& gpu) { return count_all(gpu); });
    if (!expected) return;
    std::map<int, std::vector<MachinePart>> by_count;
    for (const MachinePart& gpu : gpus_)
      if (const int count = count_all(gpu); count < *expected) by_count[count].push_back(gpu);
    const auto fault = [&](const std::string& who, const std::vector<MachinePart>& less) {
      return MachineFinding{fmt::format("{}; most GPUs have {}", who, *expected), kFabricAdvice,
                            with_links(less, *expected)};
    };
    Faults by_group;
    std::vector<std::string> names;
    std::vector<MachinePart> all;
    for (const auto& [count, some] : by_count) {
      names.push_back(fmt::format("{}: {}", names_of(some), links_text(count, kind_of(gpus_.front()))));
      by_group.push_back(fault(names.back(), some));
      all.insert(all.end(), some.begin(), some.end());
    }
    // What a group lacks may be links to another group: then they are one fault.
    const bool is_shared =
        std::ranges::any_of(by_group, [](const MachineFinding& finding) { return !finding.change; });
    if (is_shared) by_group = {fault(fmt::format("{}", fmt::join(names, "; ")), all)};
    std::ranges::move(by_group, std::back_inserter(faults));
  }

  /// Links to switches as an intact GPU has them; links between GPUs that both lack some.
  std::function<void(Machine&)> with_links(const std::vector<MachinePart>& less, int expected) const {
    const auto intact =
        std::ranges::find_if(gpus_, [&](const MachinePart& gpu) { return count_all(gpu) == expected; });
    std::vector<FabricLinks> to_switches;
    for (const FabricLinks& links : intact->device->gpu->links)
      if (links.target == FabricTarget::NvSwitch) to_switches.push_back(links);
    if (!to_switches.empty()) return with_switch_links(less, to_switches);
    return with_pairs_joined(less, expected);
  }

  static std::function<void(Machine&)> with_switch_links(const std::vector<MachinePart>& less,
                                                         const std::vector<FabricLinks>& to_switches) {
    std::vector<std::string> bus_ids;
    for (const MachinePart& gpu : less) bus_ids.push_back(gpu.device->bus_id);
    return [bus_ids, to_switches](Machine& machine) {
      for (const std::string& bus_id : bus_ids) {
        std::vector<FabricLinks>& links = find_device(machine, bus_id)->gpu->links;
        std::erase_if(links, [](const FabricLinks& some) { return some.target == FabricTarget::NvSwitch; });
        links.insert(links.end(), to_switches.begin(), to_switches.end());
      }
    };
  }

  /// Nothing if one of them would still lack some.
  std::function<void(Machine&)> with_pairs_joined(const std::vector<MachinePart>& less, int expected) const {
    struct Join {
      std::string a, b;
      int count;
    };
    std::vector<int> missing;
    std::vector<Join> joins;
    for (const MachinePart& gpu : less) missing.push_back(expected - count_all(gpu));
    for (size_t a = 0; a != less.size(); ++a)
      for (size_t b = a + 1; b != less.size(); ++b) {
        const int count = std::min(missing[a], missing[b]);
        if (count == 0) continue;
        joins.push_back({less[a].device->bus_id, less[b].device->bus_id, count});
        missing[a] -= count;
        missing[b] -= count;
      }
    if (std::ranges::any_of(missing, [](int count) { return count > 0; })) return {};
    return [joins, kind = kind_of(gpus_.front())](Machine& machine) {
      for (const Join& join : joins) {
        add_links(machine, join.a, join.b, join.count, kind);
        add_links(machine, join.b, join.a, join.count, kind);
      }
    };
  }

  const std::vector<MachinePart> gpus_;
  std::map<std::string, const MachinePart*> by_bus_id_;
};

}  // namespace

void find_fabric_faults(const Machine& machine, Faults& faults) { FabricRules(machine).find(faults); }

}  // namespace rondo
