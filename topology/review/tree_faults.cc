// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "fault_rules.h"

namespace rondo {
namespace {

/// Servers without PCI switches look the same, but their links have speeds and their nodes numbers. Returns
/// whether the tree is hidden.
bool find_hidden_tree(const Machine& machine, Faults& faults) {
  const std::vector<MachinePart> gpus = parts_of(machine, PartKind::Gpu);
  if (gpus.size() < 2) return false;
  const bool is_flat = std::ranges::all_of(gpus, [](const MachinePart& gpu) { return gpu.above == nullptr; });
  const bool no_speeds = std::ranges::all_of(gpus, [](const MachinePart& gpu) {
    return gpu.device->link_speed.empty() || gpu.device->link_width <= 0;
  });
  const bool no_numa = std::ranges::all_of(gpus, [](const MachinePart& gpu) { return gpu.numa->id < 0; });
  if (!is_flat || (!no_speeds && !no_numa)) return false;
  std::vector<std::string> unknown;
  if (no_speeds) unknown.emplace_back("the speeds of their links");
  if (no_numa) unknown.emplace_back("their NUMA nodes");
  faults.push_back(
      {fmt::format("the PCI tree is hidden, as in virtual machines: the {} GPUs hang directly off {}, and {} "
                   "are unknown",
                   gpus.size(), machine.numa.size() == 1 ? "the CPU" : "the CPUs", listed(unknown)),
       "use a description of the physical machine, as clouds offer for NCCL_TOPO_FILE, or one saved by "
       "rondo-topo on the host",
       {}});
  return true;
}

void find_unknown_numa(const Machine& machine, Faults& faults) {
  std::vector<MachinePart> gpus = parts_of(machine, PartKind::Gpu);
  std::erase_if(gpus, [](const MachinePart& gpu) { return gpu.numa->id >= 0; });
  if (gpus.empty()) return;
  faults.push_back(
      {fmt::format("the NUMA node of {} is unknown", names_of(gpus)),
       "have the hypervisor show NUMA nodes and place devices and memory on them; on a physical machine "
       "look at the firmware's NUMA settings",
       {}});
}

void find_missing_p2p(const Machine& machine, Faults& faults) {
  if (machine.p2p_below_switches.value_or(true)) return;
  std::map<std::string, std::vector<MachinePart>> below;
  for (const MachinePart& gpu : parts_of(machine, PartKind::Gpu))
    if (gpu.above != nullptr) below[gpu.above->bus_id].push_back(gpu);
  std::vector<std::string> switches;
  for (const auto& [bus_id, gpus] : below)
    if (gpus.size() > 1) switches.push_back(bus_id);
  if (switches.empty()) return;
  faults.push_back(
      {fmt::format("no P2P: GPUs below one PCI switch reach one another only through the CPU ({})",
                   listed(switches)),
       "switch ACS redirection off on the ports of the switches, or the IOMMU to passthrough (iommu=pt); "
       "some GPUs, such as GeForce, lack P2P",
       [](Machine& changed) { changed.p2p_below_switches = true; }});
}

}  // namespace

void find_tree_faults(const Machine& machine, Faults& faults) {
  find_missing_p2p(machine, faults);
  if (!find_hidden_tree(machine, faults)) find_unknown_numa(machine, faults);
}

}  // namespace rondo
