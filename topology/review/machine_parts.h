// SPDX-License-Identifier: Apache-2.0
// The PCI devices of a Machine in one list, and how reviews name and find them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/machine.h"

namespace rondo {

enum class PartKind : uint8_t { Gpu, Nic, Switch, Other };

struct MachinePart {
  const PciDevice* device;
  const PciDevice* above;  // null: right below the NUMA node
  const NumaNode* numa;
  PartKind kind;
  std::string name;  // as TopologyGraph names it: "gpu0", "nic mlx5_0", "switch 0000:0c:00.0"
};

/// Devices before those below them, in the order of the description.
std::vector<MachinePart> parts_of(const Machine& machine);

/// Those of a kind.
std::vector<MachinePart> parts_of(const Machine& machine, PartKind kind);

/// Null if there is none.
PciDevice* find_device(Machine& machine, const std::string& bus_id);

/// Takes a device, with what is below it, out of the machine. Nothing if there is none.
std::optional<PciDevice> take_out(Machine& machine, const std::string& bus_id);

/// The value of an attribute that no reader interprets; empty: there is none.
std::string attribute(const PciDevice& device, std::string_view name);

/// "x16 at 16.0 GT/s"; of what the description does not say, what is taken instead.
std::string pcie_text(const PciDevice& device);

/// What the PCIe link of a device is taken to carry, in kB/s.
int64_t pcie_kBps_of(const PciDevice& device);
int pcie_lanes_of(const PciDevice& device);

/// "1 NVLink", "2 xGMI links", "no NVLink"
std::string links_text(int count, FabricKind kind);

/// "gpu0 and gpu3", "a, b and c"; of more than six the first five, and how many others there are.
std::string listed(std::span<const std::string> names);

/// "1 port", "2 ports"
std::string counted(size_t count, const std::string& noun);

}  // namespace rondo
