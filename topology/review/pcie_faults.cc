// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "fault_rules.h"
#include "graph/link_speeds.h"

namespace rondo {
namespace {

constexpr const char* kPcieAdvice =
    "compare LnkCap and LnkSta of lspci -vv while the device is busy (idle links are slow); reseat the card "
    "or its riser; look at the firmware's settings of the slot";

bool knows_pcie(const PciDevice& device) {
  return device.link_width > 0 && !device.link_speed.empty() &&
         pcie_kBps(device.link_speed, device.link_width).has_value();
}

/// Devices of equal keys should have equal links: GPUs of a generation, NICs and switches of a model. Of
/// switches of one model some lead to GPUs and some to NICs.
using ModelKey = std::tuple<PartKind, std::string, std::string, std::string>;
ModelKey model_of(const MachinePart& part) {
  const PciDevice& device = *part.device;
  std::string use;
  if (device.gpu) use = fmt::format("{} {}", device.gpu->sm, device.gpu->gfx);
  for (const NetPort& port : device.ports) use += fmt::format("{} ", port.speed_Mbps);
  if (part.kind == PartKind::Switch)
    use = std::ranges::any_of(device.below, [](const PciDevice& below) { return below.gpu.has_value(); })
              ? "GPUs"
              : "others";
  return {part.kind, attribute(device, "vendor"), attribute(device, "device"), use};
}

std::function<void(Machine&)> with_link(std::vector<MachinePart> parts, const PcieLink& link) {
  std::vector<std::string> bus_ids;
  for (const MachinePart& part : parts) bus_ids.push_back(part.device->bus_id);
  return [bus_ids, link](Machine& machine) {
    for (const std::string& bus_id : bus_ids)
      if (PciDevice* const device = find_device(machine, bus_id)) {
        device->link_speed = link.speed;
        device->link_width = link.lanes;
      }
  };
}

/// One finding for all of a model that have the same lesser link. Returns the bus ids of what it reports.
std::set<std::string> compare_links(const Machine& machine, Faults& faults) {
  std::set<std::string> reported;
  std::map<ModelKey, std::vector<MachinePart>> models;
  for (const MachinePart& part : parts_of(machine))
    if (part.kind != PartKind::Other && knows_pcie(*part.device)) models[model_of(part)].push_back(part);
  for (const auto& [key, parts] : models) {
    const MachinePart& best = *std::ranges::max_element(
        parts, {}, [](const MachinePart& part) { return pcie_kBps_of(*part.device); });
    std::map<std::string, std::vector<MachinePart>> lesser;
    for (const MachinePart& part : parts)
      if (pcie_kBps_of(*part.device) < pcie_kBps_of(*best.device))
        lesser[pcie_text(*part.device)].push_back(part);
    for (const auto& [text, some] : lesser) {
      for (const MachinePart& part : some) reported.insert(part.device->bus_id);
      faults.push_back(
          {fmt::format("{}: PCIe {}; {} has {}", names_of(some), text, best.name, pcie_text(*best.device)),
           kPcieAdvice, with_link(some, {best.device->link_speed, best.device->link_width})});
    }
  }
  return reported;
}

/// Attributes that detection adds, by the kernel's names of the files; NCCL's descriptions have no maximum.
void compare_with_maximum(const Machine& machine, const std::set<std::string>& reported, Faults& faults) {
  for (const MachinePart& part : parts_of(machine)) {
    if (reported.contains(part.device->bus_id)) continue;
    PciDevice best = *part.device;
    const std::string lanes = attribute(best, "max_link_width");
    best.link_speed = attribute(best, "max_link_speed");
    std::from_chars(lanes.data(), lanes.data() + lanes.size(), best.link_width);
    if (!knows_pcie(*part.device) || !knows_pcie(best)) continue;
    if (pcie_kBps_of(*part.device) >= pcie_kBps_of(best)) continue;
    faults.push_back(
        {fmt::format("{}: PCIe {}; its maximum is {}", part.name, pcie_text(*part.device), pcie_text(best)),
         kPcieAdvice, with_link({part}, {best.link_speed, best.link_width})});
  }
}

/// Ports usually have a little more than the PCIe link carries.
void compare_with_ports(const Machine& machine, Faults& faults) {
  for (const MachinePart& part : parts_of(machine, PartKind::Nic)) {
    int64_t ports_kBps = 0;
    for (const NetPort& port : part.device->ports) ports_kBps += port_kBps(port.speed_Mbps);
    const int64_t pcie = pcie_kBps_of(*part.device);
    if (!knows_pcie(*part.device) || 4 * pcie >= 3 * ports_kBps) continue;
    PcieLink wide;
    for (const char* speed : {"8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"})
      if (wide.lanes == 0 && 4 * *pcie_kBps(speed, 16) >= 3 * ports_kBps) wide = {speed, 16};
    faults.push_back({fmt::format("{}: PCIe {}, {:.1f} GB/s, below ports of {:.1f} GB/s", part.name,
                                  pcie_text(*part.device), static_cast<double>(pcie) / 1e6,
                                  static_cast<double>(ports_kBps) / 1e6),
                      "use a slot of more lanes or of a newer generation; if the NIC has several ports, "
                      "divide them among NICs",
                      wide.lanes > 0 ? with_link({part}, wide) : std::function<void(Machine&)>()});
  }
}

}  // namespace

void find_pcie_faults(const Machine& machine, Faults& faults) {
  compare_with_maximum(machine, compare_links(machine, faults), faults);
  compare_with_ports(machine, faults);
}

}  // namespace rondo
