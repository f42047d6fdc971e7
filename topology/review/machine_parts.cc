// SPDX-License-Identifier: Apache-2.0
#include "machine_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/link_speeds.h"

namespace rondo {
namespace {

constexpr size_t kMaxListed = 6;

PartKind kind_of(const PciDevice& device) {
  if (device.gpu) return PartKind::Gpu;
  if (!device.ports.empty()) return PartKind::Nic;
  return device.below.empty() ? PartKind::Other : PartKind::Switch;
}

void add_parts(const std::vector<PciDevice>& devices, const PciDevice* above, const NumaNode& numa,
               std::vector<MachinePart>& parts, int& gpus) {
  for (const PciDevice& device : devices) {
    MachinePart part = {&device, above, &numa, kind_of(device), device.bus_id};
    if (device.gpu)
      part.name = fmt::format("gpu{}", device.gpu->dev >= 0 ? device.gpu->dev : gpus);
    else if (part.kind == PartKind::Nic)
      part.name = "nic " + device.ports.front().name;
    else if (part.kind == PartKind::Switch)
      part.name = "switch " + device.bus_id;
    gpus += device.gpu ? 1 : 0;
    parts.push_back(std::move(part));
    add_parts(device.below, &device, numa, parts, gpus);
  }
}

PciDevice* find_device(std::vector<PciDevice>& devices, const std::string& bus_id) {
  for (PciDevice& device : devices) {
    if (device.bus_id == bus_id) return &device;
    if (PciDevice* const below = find_device(device.below, bus_id)) return below;
  }
  return nullptr;
}

std::optional<PciDevice> take_out(std::vector<PciDevice>& devices, const std::string& bus_id) {
  for (auto device = devices.begin(); device != devices.end(); ++device) {
    if (device->bus_id == bus_id) {
      PciDevice taken = std::move(*device);
      devices.erase(device);
      return taken;
    }
    if (auto taken = take_out(device->below, bus_id)) return taken;
  }
  return std::nullopt;
}

}  // namespace

std::vector<MachinePart> parts_of(const Machine& machine) {
  std::vector<MachinePart> parts;
  int gpus = 0;
  for (const NumaNode& numa : machine.numa) add_parts(numa.devices, nullptr, numa, parts, gpus);
  return parts;
}

std::vector<MachinePart> parts_of(const Machine& machine, PartKind kind) {
  std::vector<MachinePart> parts = parts_of(machine);
  std::erase_if(parts, [&](const MachinePart& part) { return part.kind != kind; });
  return parts;
}

PciDevice* find_device(Machine& machine, const std::string& bus_id) {
  for (NumaNode& numa : machine.numa)
    if (PciDevice* const device = find_device(numa.devices, bus_id)) return device;
  return nullptr;
}

std::optional<PciDevice> take_out(Machine& machine, const std::string& bus_id) {
  for (NumaNode& numa : machine.numa)
    if (auto taken = take_out(numa.devices, bus_id)) return taken;
  return std::nullopt;
}

std::string attribute(const PciDevice& device, std::string_view name) {
  const auto found = std::ranges::find(device.extra, name, &Attributes::value_type::first);
  return found != device.extra.end() ? found->second : "";
}

int pcie_lanes_of(const PciDevice& device) { return pcie_lanes(device.link_width); }

int64_t pcie_kBps_of(const PciDevice& device) {
  const auto kBps = pcie_kBps(device.link_speed, device.link_width);
  return kBps ? *kBps : *pcie_kBps("", device.link_width);
}

std::string pcie_text(const PciDevice& device) {
  if (device.link_speed.empty())
    return fmt::format("x{} of unknown speed, {:.1f} GB/s", pcie_lanes_of(device),
                       static_cast<double>(pcie_kBps_of(device)) / 1e6);
  const std::string speed = device.link_speed.substr(0, device.link_speed.find(" PCIe"));
  return fmt::format("x{} at {}", pcie_lanes_of(device), speed.substr(0, 32));
}

std::string links_text(int count, FabricKind kind) {
  const std::string noun = kind == FabricKind::NvLink ? "NVLink"
                           : kind == FabricKind::Xgmi ? "xGMI link"
                                                      : "C2C link";
  return count == 0 ? "no " + noun : counted(static_cast<size_t>(count), noun);
}

std::string listed(std::span<const std::string> names) {
  std::vector<std::string> items(names.begin(), names.end());
  if (items.size() > kMaxListed) {
    items.resize(kMaxListed - 1);
    items.push_back(fmt::format("{} others", names.size() - items.size()));
  }
  std::string text;
  for (size_t i = 0; i != items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return text;
}

std::string counted(size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace rondo
