// SPDX-License-Identifier: Apache-2.0
// Machines for the tests of detect_machine(), and what they look like once detected.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "detect/detect_machine.h"
#include "fake_sysfs.h"
#include "graph/machine.h"

namespace rondo::test {

inline Machine detected(const FakeSysfs& sysfs, const std::string& nvml = "libno-such-library.so.1",
                        const std::optional<std::string>& visible_devices = std::nullopt) {
  auto machine = detect_machine({.sysfs = sysfs.path(), .nvml = nvml, .visible_devices = visible_devices});
  REQUIRE(machine.status().message() == "");
  return machine.take();
}

inline void check_repair(const Machine& machine, const std::string& words) {
  INFO(words);
  for (const std::string& repair : machine.repairs) UNSCOPED_INFO(repair);
  CHECK(std::ranges::any_of(
      machine.repairs, [&](const std::string& repair) { return repair.find(words) != std::string::npos; }));
}

inline PciDevice nic(const std::string& bus_id, const std::string& port, const std::string& number) {
  PciDevice device{
      .bus_id = bus_id, .pci_class = "0x020700", .link_speed = "16.0 GT/s PCIe", .link_width = 16};
  device.ports = {NetPort{.name = port, .speed_Mbps = 200'000, .extra = {{"port", number}}}};
  return device;
}

inline PciDevice pci_switch(const std::string& bus_id, std::vector<PciDevice> below) {
  PciDevice device{
      .bus_id = bus_id, .pci_class = "0x060400", .link_speed = "16.0 GT/s PCIe", .link_width = 16};
  device.below = std::move(below);
  return device;
}

inline Machine host(std::vector<PciDevice> devices) {
  NumaNode numa{.id = 0,
                .affinity = "00000000,ffffffff",
                .arch = "x86_64",
                .vendor = "GenuineIntel",
                .family = 6,
                .model = 143};
  numa.devices = std::move(devices);
  return {.numa = {std::move(numa)}};
}

template <typename Visit>
void visit_devices(std::vector<PciDevice>& devices, const Visit& visit) {
  for (PciDevice& device : devices) {
    visit(device);
    visit_devices(device.below, visit);
  }
}

template <typename Visit>
void visit_devices(Machine& machine, const Visit& visit) {
  for (NumaNode& numa : machine.numa) visit_devices(numa.devices, visit);
}

/// Interfaces without a PCI device count if there are no others, and then belong to the first NUMA node.
inline void move_virtual_interfaces(Machine& machine) {
  std::vector<NetPort> ports;
  for (NumaNode& numa : machine.numa)
    for (const NetPort& port : std::exchange(numa.ports, {}))
      if (std::ranges::find(ports, port.name, &NetPort::name) == ports.end()) ports.push_back(port);
  bool has_others = false;
  visit_devices(machine, [&](const PciDevice& device) { has_others |= !device.ports.empty(); });
  if (!has_others) std::ranges::min_element(machine.numa, {}, &NumaNode::id)->ports = std::move(ports);
}

}  // namespace rondo::test
