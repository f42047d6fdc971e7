// SPDX-License-Identifier: Apache-2.0
#include "host_parts.h"

#include <algorithm>
#include <set>

#include "detect/pci_functions.h"
#include "graph/machine.h"
#include "review/host_faults.h"

namespace rondo {
namespace {

std::vector<SysPciDevice> pci_devices(Sysfs& sys) {
  std::set<std::string> gpus;
  for (const char* vendor : {kNvidiaVendor, kAmdVendor})
    for (std::string& bus_id : gpu_functions(sys, vendor)) gpus.insert(std::move(bus_id));
  std::vector<SysPciDevice> devices;
  for (const std::string& bus_id : sys.names(kPciFunctions)) {
    const std::string folder = sys.device_of(pci_function(bus_id));
    if (!folder.empty())
      devices.push_back({bus_id, folder, sys.text(folder + "/class"), gpus.contains(bus_id)});
  }
  std::ranges::sort(devices, {}, &SysPciDevice::bus_id);
  return devices;
}

}  // namespace

std::vector<MachineFinding> host_faults(const std::string& root) {
  Faults faults;
  std::vector<std::string> unread;  // no faults
  HostParts host{root, {}, {}};
  if (auto sys = Sysfs::open(root + "/sys", unread); sys.ok()) {
    host.sys = sys.take();
    host.devices = pci_devices(*host.sys);
  }
  find_host_pci_faults(host, faults);
  find_kernel_faults(host, faults);
  find_process_faults(host, faults);
  return faults;
}

}  // namespace rondo
