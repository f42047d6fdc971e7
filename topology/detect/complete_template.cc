// SPDX-License-Identifier: Apache-2.0
#include "detect/complete_template.h"

#include <algorithm>
#include <map>

namespace rondo {
namespace {

/// All devices of a tree, by bus id.
void collect_devices(const std::vector<PciDevice>& devices, std::map<std::string, const PciDevice*>& found) {
  for (const PciDevice& device : devices) {
    found.emplace(device.bus_id, &device);
    collect_devices(device.below, found);
  }
}

std::map<std::string, const PciDevice*> devices_of(const Machine& machine) {
  std::map<std::string, const PciDevice*> found;
  for (const NumaNode& numa : machine.numa) collect_devices(numa.devices, found);
  return found;
}

class TemplateFiller {
 public:
  explicit TemplateFiller(const Machine& host) : host_(host), host_devices_(devices_of(host)) {}

  bool is_of_host(const Machine& description) const {
    const std::map<std::string, const PciDevice*> places = devices_of(description);
    bool has_gpus = false;
    for (const auto& [bus_id, device] : host_devices_) {
      if (!device->gpu) continue;
      const auto place = places.find(bus_id);
      if (place == places.end() || place->second->gpu) return false;
      has_gpus = true;
    }
    return has_gpus;
  }

  void fill(Machine& description) {
    for (NumaNode& numa : description.numa) {
      fill_processor(numa);
      fill_devices(numa.devices);
    }
    if (!description.p2p_below_switches) description.p2p_below_switches = host_.p2p_below_switches;
    description.repairs.insert(description.repairs.end(), host_.repairs.begin(), host_.repairs.end());
    description.repairs.push_back(fmt::format(
        "{}: a template; {} of {} with {} network port{} are at its bus ids", description.source,
        gpus_ == 1 ? "1 GPU" : fmt::format("{} GPUs", gpus_), host_.source, ports_, ports_ == 1 ? "" : "s"));
  }

 private:
  void fill_processor(NumaNode& numa) const {
    const NumaNode& known = host_.numa.front();
    if (!numa.arch.empty() || !numa.vendor.empty()) return;
    numa.arch = known.arch;
    numa.vendor = known.vendor;
    numa.family = known.family;
    numa.model = known.model;
  }

  void fill_devices(std::vector<PciDevice>& devices) {
    for (PciDevice& device : devices) {
      if (const auto known = host_devices_.find(device.bus_id); known != host_devices_.end())
        fill_device(device, *known->second);
      fill_devices(device.below);
    }
  }

  void fill_device(PciDevice& device, const PciDevice& known) {
    if (device.pci_class.empty()) device.pci_class = known.pci_class;
    if (device.extra.empty()) device.extra = known.extra;
    if (device.link_speed.empty() && device.link_width == 0) {
      device.link_speed = known.link_speed;
      device.link_width = known.link_width;
    }
    if (known.gpu) {
      device.gpu = known.gpu;
      ++gpus_;
    }
    if (!device.ports.empty()) return;
    device.ports = known.ports;
    device.has_nic |= known.has_nic;
    ports_ += known.ports.size();
  }

  const Machine& host_;
  const std::map<std::string, const PciDevice*> host_devices_;
  size_t gpus_ = 0, ports_ = 0;
};

}  // namespace

bool complete_template(Machine& description, const Machine& host) {
  TemplateFiller filler(host);
  if (!filler.is_of_host(description)) return false;
  filler.fill(description);
  return true;
}

}  // namespace rondo
