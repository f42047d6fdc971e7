// SPDX-License-Identifier: Apache-2.0
// The rules of host_faults(), by subject, and what they read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "detect/sysfs.h"
#include "fault_rules.h"

namespace rondo {

/// A PCI function as /sys shows it.
struct SysPciDevice {
  std::string bus_id;
  std::string folder;     // without links: those of devices below it begin with it
  std::string pci_class;  // "0x030200"
  bool is_gpu = false;
};

struct HostParts {
  std::string root;                   // of proc and sys
  std::optional<Sysfs> sys;           // nothing: there is none
  std::vector<SysPciDevice> devices;  // by bus id
};

/// Switches that send what GPUs exchange up to the CPU (ACS), IOMMUs that translate addresses of GPUs.
void find_host_pci_faults(HostParts& host, Faults& faults);

/// The frequency of CPUs, what TCP may have on its way.
void find_kernel_faults(HostParts& host, Faults& faults);

/// Memory that the process may lock, the CPU time of its control groups, its CPUs.
void find_process_faults(HostParts& host, Faults& faults);

}  // namespace rondo
