// SPDX-License-Identifier: Apache-2.0
#include "review/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fabric_differences.h"
#include "graph/link_speeds.h"
#include "matching.h"

namespace rondo {
namespace {

std::string ports_text(const PciDevice& nic) {
  std::map<int64_t, size_t, std::greater<>> speeds;
  for (const NetPort& port : nic.ports) ++speeds[port.speed_Mbps];
  std::string text;
  for (const auto& [speed_Mbps, count] : speeds)
    text += fmt::format(
        "{}{} of {}", text.empty() ? "" : " and ", counted(count, "port"),
        speed_Mbps > 0 ? fmt::format("{:g} Gbit/s", static_cast<double>(speed_Mbps) / 1e3) : "unknown speed");
  return text;
}

std::string processor_text(const NumaNode& numa) {
  return fmt::format("{} family {} model {}", numa.vendor.empty() ? "unknown" : numa.vendor.substr(0, 32),
                     numa.family, numa.model);
}

class MachineComparison {
 public:
  MachineComparison(const Machine& a, const Machine& b) : a_(a), b_(b), matching_(a, b) {}

  std::vector<MachineFinding> findings() {
    for (const MachinePart& part : matching_.only_a) missing(part);
    for (const MachinePart& part : matching_.only_b) added(part);
    std::ranges::move(fabric_differences(a_, b_, matching_), std::back_inserter(findings_));
    for (const auto& [part_a, part_b] : matching_.pairs) {
      compare_pcie(part_a, part_b);
      compare_places(part_a, part_b);
      if (part_a.kind == PartKind::Nic) compare_ports(part_a, part_b);
    }
    compare_generations();
    compare_processors();
    compare_p2p();
    report_unmatched();
    return std::move(findings_);
  }

 private:
  void add(std::string text, std::function<void(Machine&)> change) {
    findings_.push_back({std::move(text), "", std::move(change)});
  }

  /// Changes the device of a that has this bus id.
  template <typename Change>
  static std::function<void(Machine&)> of_device(const std::string& bus_id, Change change) {
    return [bus_id, change](Machine& machine) {
      if (PciDevice* const device = find_device(machine, bus_id)) change(*device);
    };
  }

  static bool is_end(const MachinePart& part) {
    return part.kind == PartKind::Gpu || part.kind == PartKind::Nic;
  }

  void missing(const MachinePart& part) {
    if (!is_end(part)) return;
    add(fmt::format("{} ({}) is missing", part.name, part.device->bus_id),
        of_device(part.device->bus_id, [](PciDevice& device) {
          device.gpu.reset();
          device.ports.clear();
        }));
  }

  void added(const MachinePart& part) {
    if (!is_end(part)) return;
    PciDevice device = *part.device;
    device.below.clear();
    device.bus_id = matching_.in_a(part.device->bus_id);
    std::map<std::string, FabricLinks> back;  // from GPUs of a
    if (device.gpu)
      for (FabricLinks& links : device.gpu->links) links.target_bus_id = matching_.in_a(links.target_bus_id);
    for (const auto& [part_a, part_b] : matching_.pairs) {
      if (!part_b.device->gpu) continue;
      for (const FabricLinks& links : part_b.device->gpu->links)
        if (links.target == FabricTarget::Gpu && links.target_bus_id == part.device->bus_id) {
          const auto [known, is_new] = back.emplace(part_a.device->bus_id, links);
          known->second.target_bus_id = device.bus_id;
          if (!is_new) known->second.count += links.count;
        }
    }
    const std::string parent = part.above != nullptr ? matching_.in_a(part.above->bus_id) : "";
    add(fmt::format("{} ({}) is additional", part.name, part.device->bus_id),
        [device, parent, back, numa = part.numa->id](Machine& machine) {
          for (const auto& [gpu, links] : back)
            if (PciDevice* const from = find_device(machine, gpu); from != nullptr && from->gpu)
              from->gpu->links.push_back(links);
          place(machine, renamed(device, machine), parent, numa);
        });
  }

  /// A device of b with numbers and names that no device of `machine` has.
  static PciDevice renamed(PciDevice device, const Machine& machine) {
    for (const MachinePart& part : parts_of(machine)) {
      if (device.gpu && part.device->gpu)
        device.gpu->dev = std::max(device.gpu->dev, part.device->gpu->dev + 1);
      for (NetPort& port : device.ports)
        if (std::ranges::find(part.device->ports, port.name, &NetPort::name) != part.device->ports.end())
          port.name += " of " + device.bus_id;
    }
    return device;
  }

  static NumaNode& numa_of(Machine& machine, int id) {
    const auto found = std::ranges::find(machine.numa, id, &NumaNode::id);
    return found != machine.numa.end() ? *found : machine.numa.front();
  }

  /// Below the device of that bus id; if there is none, right below the NUMA node.
  static void place(Machine& machine, const PciDevice& device, const std::string& parent, int numa) {
    PciDevice* const above = parent.empty() ? nullptr : find_device(machine, parent);
    (above != nullptr ? above->below : numa_of(machine, numa).devices).push_back(device);
  }

  void compare_pcie(const MachinePart& a, const MachinePart& b) {
    if (pcie_kBps_of(*a.device) == pcie_kBps_of(*b.device) &&
        pcie_lanes_of(*a.device) == pcie_lanes_of(*b.device))
      return;
    add(fmt::format("{}: PCIe {} instead of {}", a.name, pcie_text(*b.device), pcie_text(*a.device)),
        of_device(a.device->bus_id,
                  [speed = b.device->link_speed, width = b.device->link_width](PciDevice& device) {
                    device.link_speed = speed;
                    device.link_width = width;
                  }));
  }

  /// What a device is below: a switch that both machines have, or a NUMA node.
  void compare_places(const MachinePart& a, const MachinePart& b) {
    if (!is_end(a)) return;
    const bool same_numa = a.numa->id == b.numa->id;
    const std::string above_a = a.above != nullptr ? a.above->bus_id : "";
    const std::string above_b = b.above != nullptr ? matching_.in_a(b.above->bus_id) : "";
    const bool known = above_b.empty() ? numa_known(b.numa->id) : matching_.in_b(above_b) != nullptr;
    if (!known || !a.device->below.empty() || (above_a == above_b && (same_numa || !above_a.empty()))) return;
    add(fmt::format("{}: below {} instead of {}", a.name, place_text(above_b, b.numa->id),
                    place_text(above_a, a.numa->id)),
        [bus_id = a.device->bus_id, above_b, numa = b.numa->id](Machine& machine) {
          if (const auto moved = take_out(machine, bus_id)) place(machine, *moved, above_b, numa);
        });
  }

  static std::string place_text(const std::string& above, int numa) {
    return above.empty() ? fmt::format("numa{}", numa) : "switch " + above;
  }

  bool numa_known(int id) const { return std::ranges::find(a_.numa, id, &NumaNode::id) != a_.numa.end(); }

  /// The GPUs of a machine are of one generation, so this is one difference.
  void compare_generations() {
    std::map<std::pair<std::string, std::string>, std::vector<const std::pair<MachinePart, MachinePart>*>>
        kinds;
    for (const auto& pair : matching_.pairs) {
      if (pair.first.kind != PartKind::Gpu) continue;
      const GpuInfo &gpu_a = *pair.first.device->gpu, &gpu_b = *pair.second.device->gpu;
      if (!same_generation(gpu_a, gpu_b))
        kinds[{generation_text(gpu_b), generation_text(gpu_a)}].push_back(&pair);
    }
    for (const auto& [texts, pairs] : kinds) {
      std::vector<std::string> names, bus_ids;
      for (const auto* pair : pairs) {
        names.push_back(pair->first.name);
        bus_ids.push_back(pair->first.device->bus_id);
      }
      add(fmt::format("{}: {} instead of {}", listed(names), texts.first, texts.second),
          [bus_ids, from = *pairs.front()->second.device->gpu](Machine& machine) {
            for (const std::string& bus_id : bus_ids) {
              PciDevice* const device = find_device(machine, bus_id);
              if (device == nullptr || !device->gpu) continue;
              device->gpu->sm = from.sm;
              device->gpu->gfx = from.gfx;
            }
          });
    }
  }

  /// AMD's GPUs have several names for one generation, and numbers of compute units in place of a capability.
  static bool same_generation(const GpuInfo& a, const GpuInfo& b) {
    if (a.gfx.empty() != b.gfx.empty()) return false;
    return a.gfx.empty() ? a.sm == b.sm : xgmi_kBps(a.gfx) == xgmi_kBps(b.gfx);
  }

  static std::string generation_text(const GpuInfo& gpu) {
    if (!gpu.gfx.empty()) return gpu.gfx.substr(0, 16);
    return gpu.sm > 0 ? fmt::format("compute capability {}.{}", gpu.sm / 10, gpu.sm % 10)
                      : "unknown generation";
  }

  void compare_ports(const MachinePart& a, const MachinePart& b) {
    const std::string text_a = ports_text(*a.device), text_b = ports_text(*b.device);
    if (text_a == text_b) return;
    add(fmt::format("{}: {} instead of {}", a.name, text_b, text_a),
        of_device(a.device->bus_id, [ports = b.device->ports](PciDevice& device) {
          for (size_t i = 0; i != ports.size(); ++i) {
            if (i == device.ports.size()) device.ports.push_back(ports[i]);
            device.ports[i].speed_Mbps = ports[i].speed_Mbps;
          }
          device.ports.resize(ports.size());
        }));
  }

  void compare_processors() {
    if (a_.numa.empty() || b_.numa.empty()) return;
    const NumaNode &numa_a = a_.numa.front(), &numa_b = b_.numa.front();
    if (processor_text(numa_a) == processor_text(numa_b) && numa_a.arch == numa_b.arch) return;
    add(fmt::format("processors: {} instead of {}", processor_text(numa_b), processor_text(numa_a)),
        [numa_b](Machine& machine) {
          for (NumaNode& numa : machine.numa) {
            numa.arch = numa_b.arch;
            numa.vendor = numa_b.vendor;
            numa.family = numa_b.family;
            numa.model = numa_b.model;
          }
        });
  }

  void compare_p2p() {
    const bool in_a = a_.p2p_below_switches.value_or(true), in_b = b_.p2p_below_switches.value_or(true);
    if (in_a == in_b) return;
    add(fmt::format("GPUs below one PCI switch {} one another there", in_b ? "reach" : "do not reach"),
        [in_b](Machine& machine) { machine.p2p_below_switches = in_b; });
  }

  /// Descriptions do not say what would become of the devices below, so these have no change.
  void report_unmatched() {
    report_switches(matching_.only_a, "missing");
    report_switches(matching_.only_b, "additional");
    if (a_.numa.size() != b_.numa.size())
      add(fmt::format("{} instead of {}", counted(b_.numa.size(), "NUMA node"), a_.numa.size()), {});
  }

  void report_switches(const std::vector<MachinePart>& parts, const char* what) {
    std::vector<std::string> bus_ids;
    for (const MachinePart& part : parts)
      if (part.kind == PartKind::Switch) bus_ids.push_back(part.device->bus_id);
    if (!bus_ids.empty())
      add(fmt::format("{} {}: {}", what, bus_ids.size() == 1 ? "PCI switch" : "PCI switches",
                      listed(bus_ids)),
          {});
  }

  const Machine &a_, &b_;
  const Matching matching_;
  std::vector<MachineFinding> findings_;
};

}  // namespace

std::vector<MachineFinding> differences(const Machine& a, const Machine& b) {
  return MachineComparison(a, b).findings();
}

}  // namespace rondo
