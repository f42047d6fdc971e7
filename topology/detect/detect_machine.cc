// SPDX-License-Identifier: Apache-2.0
#include "detect/detect_machine.h"

#include <cstdlib>
#include <map>
#include <string_view>

#include "amd_gpus.h"
#include "detect/sysfs.h"
#include "network_ports.h"
#include "numa_nodes.h"
#include "nvidia_gpus.h"
#include "pci_tree.h"

namespace rondo {
namespace {

/// Functions of one device share its link: their ports become those of the first.
void add_ports(std::vector<FoundPort> ports, PciTree& tree, NumaNode& first_node) {
  std::map<std::string, PciPath> devices;  // by the bus id without the function
  for (const FoundPort& found : ports) {
    if (found.path.bus_ids.empty()) continue;
    const auto [device, is_new] = devices.emplace(found.path.slot(), found.path);
    if (!is_new && found.path.bus_ids < device->second.bus_ids) device->second = found.path;
  }
  for (FoundPort& found : ports) {
    if (found.path.bus_ids.empty()) {
      first_node.has_nic = true;
      first_node.ports.push_back(std::move(found.port));
      continue;
    }
    PciDevice& device = tree.add(devices.at(found.path.slot()));
    device.has_nic = true;
    device.ports.push_back(std::move(found.port));
  }
}

}  // namespace

std::optional<std::string> DetectOptions::cuda_visible_devices() {
  const char* const value = std::getenv("CUDA_VISIBLE_DEVICES");
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

bool DetectOptions::cuda_counts_by_bus_id() {
  const char* const value = std::getenv("CUDA_DEVICE_ORDER");
  return value != nullptr && std::string_view(value) == "PCI_BUS_ID";
}

Result<Machine> detect_machine(const DetectOptions& options) {
  Machine machine{.source = "this host"};
  RONDO_TRY_ASSIGN(Sysfs sysfs, Sysfs::open(options.sysfs, machine.repairs));
  RONDO_TRY_ASSIGN(machine.numa, read_numa_nodes(sysfs));
  if (sysfs.names(kPciFunctions).empty())
    sysfs.repair(kPciFunctions, "no PCI devices, as sandboxes hide them");
  PciTree tree(sysfs);
  const int count = add_nvidia_gpus(options, sysfs, tree, machine);
  add_amd_gpus(sysfs, tree, count);
  add_ports(find_ports(sysfs), tree, machine.numa.front());
  tree.move_into(machine.numa);
  return machine;
}

}  // namespace rondo
