// SPDX-License-Identifier: Apache-2.0
// The rules of host_faults(), by subject, and what they read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fault_rules.h"

namespace rondo {

/// A device as /sys/bus/pci/devices has it.
struct SysPciDevice {
  std::string bus_id;
  std::string folder;  // without links: those of devices below it begin with it
  uint32_t pci_class = 0;
  bool is_gpu = false;
};

std::vector<SysPciDevice> sys_pci_devices(const std::string& root);

/// Switches that send what GPUs exchange up to the CPU (ACS), IOMMUs that translate addresses of GPUs.
void find_host_pci_faults(const std::string& root, Faults& faults);

/// Memory that the process may lock, the CPU time of its control groups, its CPUs.
void find_process_faults(const std::string& root, Faults& faults);

}  // namespace rondo
