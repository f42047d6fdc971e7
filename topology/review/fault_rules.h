// SPDX-License-Identifier: Apache-2.0
// The rules that faults() consists of, by subject; each adds what it finds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "machine_parts.h"
#include "review/machine_finding.h"

namespace rondo {

using Faults = std::vector<MachineFinding>;

/// PCIe links below what equal devices have, below the maximum that the file states, or below what the ports
/// of a NIC carry.
void find_pcie_faults(const Machine& machine, Faults& faults);

/// NVLinks and xGMI links that are missing, go one way, differ at their two ends, or lead to the GPU itself.
void find_fabric_faults(const Machine& machine, Faults& faults);

/// Ports that equal NICs have more of, or faster ones; GPUs without a NIC on their socket.
void find_nic_faults(const Machine& machine, Faults& faults);

/// PCI trees that a virtual machine hides, unknown NUMA nodes, switches without P2P.
void find_tree_faults(const Machine& machine, Faults& faults);

/// "gpu0 and gpu3" of parts.
std::string names_of(const std::vector<MachinePart>& parts);

/// The value that more than half of the parts have; nothing: there is none.
template <typename Value, typename ValueOf>
std::optional<Value> usual(const std::vector<MachinePart>& parts, ValueOf value_of) {
  std::map<Value, size_t> counts;
  for (const MachinePart& part : parts) ++counts[value_of(part)];
  for (const auto& [value, count] : counts)
    if (2 * count > parts.size()) return value;
  return std::nullopt;
}

}  // namespace rondo
