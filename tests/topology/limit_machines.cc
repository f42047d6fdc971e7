// SPDX-License-Identifier: Apache-2.0
#include "limit_machines.h"

#include <algorithm>

namespace rondo::test {
namespace {

PciDevice* find_device(std::vector<PciDevice>& devices, int dev) {
  for (PciDevice& device : devices) {
    if (device.gpu && device.gpu->dev == dev) return &device;
    if (PciDevice* const below = find_device(device.below, dev)) return below;
  }
  return nullptr;
}

PciDevice* find_device(Machine& machine, int dev) {
  for (NumaNode& numa : machine.numa)
    if (PciDevice* const device = find_device(numa.devices, dev)) return device;
  return nullptr;
}

void drop_one(GpuInfo& gpu, const std::string& target) {
  for (FabricLinks& links : gpu.links)
    if (links.target_bus_id == target) --links.count;
  std::erase_if(gpu.links, [](const FabricLinks& links) { return links.count == 0; });
}

PciDevice pcie(std::string bus_id, std::string pci_class, std::string speed) {
  PciDevice device;
  device.bus_id = std::move(bus_id);
  device.pci_class = std::move(pci_class);
  device.link_speed = std::move(speed);
  device.link_width = 16;
  return device;
}

PciDevice hgx_gpu(const HgxHost& host, int dev) {
  PciDevice device = pcie(fmt::format("0000:{:02x}:00.0", 0x40 + dev), "0x030200", "16.0 GT/s PCIe");
  device.gpu.emplace();
  device.gpu->dev = dev;
  device.gpu->sm = host.sm;
  FabricLinks links;
  links.target = FabricTarget::NvSwitch;
  links.target_bus_id = "fffffff:ff:ff.0";
  links.count = host.nvlinks;
  device.gpu->links.push_back(links);
  return device;
}

PciDevice hgx_nic(const HgxHost& host, int dev) {
  PciDevice device = pcie(fmt::format("0000:{:02x}:00.0", 0x60 + dev), "0x020000",
                          fmt::format("{}.0 GT/s PCIe", host.nic_gigatransfers));
  device.has_nic = true;
  NetPort port;
  port.name = fmt::format("mlx5_{}", dev);
  port.dev = dev;
  port.speed_Mbps = host.nic_Mbps;
  device.ports.push_back(port);
  return device;
}

}  // namespace

GpuInfo* find_gpu(Machine& machine, int dev) {
  PciDevice* const device = find_device(machine, dev);
  return device != nullptr ? &*device->gpu : nullptr;
}

std::string bus_id_of(Machine& machine, int dev) { return find_device(machine, dev)->bus_id; }

void break_link(Machine& machine, int a, int b) {
  drop_one(*find_gpu(machine, a), bus_id_of(machine, b));
  drop_one(*find_gpu(machine, b), bus_id_of(machine, a));
}

Machine hgx(const HgxHost& host) {
  Machine machine;
  machine.source = "hgx";
  for (int id = 0; id != 2; ++id) {
    NumaNode numa;
    numa.id = id;
    numa.arch = "x86_64";
    numa.vendor = "AuthenticAMD";
    for (int below = 2 * id; below != 2 * id + 2; ++below) {
      PciDevice pci_switch =
          pcie(fmt::format("0000:{:02x}:00.0", 0x20 + below), "0x060400", "16.0 GT/s PCIe");
      for (int dev = 2 * below; dev != 2 * below + 2; ++dev) pci_switch.below.push_back(hgx_gpu(host, dev));
      for (int nic = 0; nic != host.nics_per_switch; ++nic)
        pci_switch.below.push_back(hgx_nic(host, below * host.nics_per_switch + nic));
      numa.devices.push_back(std::move(pci_switch));
    }
    machine.numa.push_back(std::move(numa));
  }
  return machine;
}

}  // namespace rondo::test
