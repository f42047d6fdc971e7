// SPDX-License-Identifier: Apache-2.0
#include "pci_tree.h"

#include <algorithm>

#include "graph/link_speeds.h"
#include "numa_nodes.h"

namespace rondo {
namespace {

constexpr const char* kGpuClass = "0x030200";  // of those whose class is not shown

int lesser_known(int a, int b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

int count_gpus(const std::vector<PciDevice>& devices) {
  return static_cast<int>(
      std::ranges::count_if(devices, [](const PciDevice& device) { return device.gpu.has_value(); }));
}

/// In the form that the kernel gives it.
bool is_bus_id(std::string_view name) {
  const auto bus_id = normalized_bus_id(name);
  return bus_id.ok() && bus_id.value() == name;
}

}  // namespace

PciPath pci_path_of(std::string_view device) {
  PciPath path;
  bool is_run = false;  // of adjacent PCI functions
  for (size_t end = 0; end != device.size();) {
    const size_t begin = end == 0 ? 0 : end + 1;
    end = std::min(device.find('/', begin), device.size());
    const std::string_view name = device.substr(begin, end - begin);
    const bool is_function = is_bus_id(name);
    if (is_function) {
      if (!is_run) path = {};
      path.bus_ids.emplace_back(name);
      path.folders.emplace_back(device.substr(0, end));
    }
    is_run = is_function;
  }
  return path;
}

PciPath pci_path_of_function(Sysfs& sysfs, const std::string& bus_id) {
  PciPath path = pci_path_of(sysfs.device_of(pci_function(bus_id)));
  if (path.bus_ids.empty() || path.bus_ids.back() == bus_id) return path;
  sysfs.repair(pci_function(bus_id), fmt::format("leads to {}: left out", path.bus_ids.back()));
  return {};
}

/// Ports, the upper ends of links, have even positions.
PciDevice& PciTree::add(const PciPath& path) {
  const size_t last = path.bus_ids.size() - 1;
  std::vector<PciDevice>* level = &roots_;
  for (size_t i = 1; i < last; i += 2) level = &find_or_read(*level, path, i).below;
  return find_or_read(*level, path, last);
}

PciDevice& PciTree::add_gpu(const PciPath& path, const std::string& bus_id) {
  if (path.bus_ids.empty())
    sysfs_.repair(pci_function(bus_id),
                  "absent, though its driver shows this GPU: taken to have a link to its NUMA node");
  PciDevice& device = path.bus_ids.empty() ? add_hidden(bus_id) : add(path);
  if (device.pci_class.empty()) device.pci_class = kGpuClass;
  return device;
}

PciDevice& PciTree::add_hidden(const std::string& bus_id) {
  has_hidden_ = true;
  const auto at = std::ranges::lower_bound(roots_, bus_id, {}, &PciDevice::bus_id);
  if (at != roots_.end() && at->bus_id == bus_id) return *at;
  return *roots_.insert(at, PciDevice{.bus_id = bus_id});
}

PciDevice& PciTree::find_or_read(std::vector<PciDevice>& level, const PciPath& path, size_t index) {
  const std::string& bus_id = path.bus_ids[index];
  const auto at = std::ranges::lower_bound(level, bus_id, {}, &PciDevice::bus_id);
  if (at != level.end() && at->bus_id == bus_id) return *at;
  return *level.insert(at, read(path, index));
}

PciDevice PciTree::read(const PciPath& path, size_t index) {
  const std::string& folder = path.folders[index];
  PciDevice device{.bus_id = path.bus_ids[index], .pci_class = sysfs_.text(folder + "/class")};
  for (const char* name : {"vendor", "device", "subsystem_vendor", "subsystem_device"})
    if (std::string value = sysfs_.text(folder + "/" + name); !value.empty())
      device.extra.emplace_back(name, std::move(value));
  read_link(device, folder, index > 0 ? path.folders[index - 1] : std::string());
  if (index > 0) below_ports_.insert(device.bus_id);
  return device;
}

/// "16.0 GT/s PCIe x16", or what of it is known.
std::string PciTree::text_of(const LinkEnd& end) {
  const std::string lanes = end.lanes > 0 ? fmt::format("x{}", end.lanes) : "";
  return end.speed + (end.speed.empty() || lanes.empty() ? "" : " ") + lanes;
}

PciTree::LinkEnd PciTree::read_end(const std::string& folder, const char* which) {
  LinkEnd end;
  end.speed = sysfs_.text(fmt::format("{}/{}_link_speed", folder, which));
  if (end.speed.starts_with("Unknown")) end.speed.clear();
  if (!end.speed.empty()) end.lane_kBps = pcie_kBps(end.speed, 1).value_or(0);
  const std::string width = fmt::format("{}/{}_link_width", folder, which);
  end.lanes = static_cast<int>(sysfs_.number(width, 0, kUnknownWidth).value_or(0));
  if (end.lanes > kMaxPcieLanes) end.lanes = 0;
  return end;
}

/// The speed that both ends can have, since GPUs slow their links down when they are idle; the lanes that are
/// in use, since these do not change unless some have failed.
void PciTree::read_link(PciDevice& device, const std::string& below, const std::string& above) {
  const LinkEnd own = read_end(below, "max"), now = read_end(below, "current");
  LinkEnd port;
  if (!above.empty()) port = read_end(above, "max");
  const bool is_emulated =
      (port.lane_kBps > 0 && now.lane_kBps > port.lane_kBps) || (port.lanes > 0 && now.lanes > port.lanes);
  if (is_emulated) {
    sysfs_.repair(above, fmt::format("its maximum is {}, but the link to {} has {}: assumed emulated",
                                     text_of(port), device.bus_id, text_of(now)));
    port = {};
  }
  const bool is_port_slower = port.lane_kBps > 0 && (own.speed.empty() || port.lane_kBps < own.lane_kBps);
  device.link_speed = is_port_slower ? port.speed : own.speed;
  const int possible = lesser_known(own.lanes, port.lanes);
  device.link_width = now.lanes > 0 ? now.lanes : possible;
  if (own.lanes == 1) single_lane_.insert(device.bus_id);
  if (now.lanes > 0 && now.lanes < possible) {
    sysfs_.repair(below + "/current_link_width",
                  fmt::format("the link uses {} of its {} lanes", now.lanes, possible));
    if (!device.link_speed.empty()) device.extra.emplace_back("max_link_speed", device.link_speed);
    device.extra.emplace_back("max_link_width", std::to_string(possible));
  }
}

/// GPUs, and switches above them, are made for several lanes. Hypervisors that emulate a device say that it
/// has one lane, whatever the device that is behind it has. Returns whether a GPU is here or below.
bool PciTree::forget_emulated_links(PciDevice& device) {
  bool leads_to_gpu = device.gpu.has_value();
  for (PciDevice& below : device.below) leads_to_gpu |= forget_emulated_links(below);
  if (leads_to_gpu && single_lane_.contains(device.bus_id)) {
    sysfs_.repair(pci_function(device.bus_id) + "/max_link_width",
                  "1 lane, as virtual machines show: the link is taken as not known");
    device.link_speed.clear();
    device.link_width = 0;
  }
  return leads_to_gpu;
}

/// Every GPU of a real host is below a port.
void PciTree::report_hidden_bridges() {
  const int gpus = count_gpus(roots_);
  const bool has_bridges = std::ranges::any_of(roots_, [&](const PciDevice& root) {
    return below_ports_.contains(root.bus_id) || !root.below.empty();
  });
  if (gpus > 1 && !has_bridges && !has_hidden_)
    sysfs_.repair(kPciFunctions,
                  fmt::format("no bridges above {} GPUs, as virtual machines hide them: each is "
                              "taken to have a link of its own to its NUMA node",
                              gpus));
}

NumaNode& PciTree::node_of(const PciDevice& root, std::vector<NumaNode>& nodes) {
  const std::string file = pci_function(root.bus_id) + "/numa_node";
  const auto id = sysfs_.number(file, -1, kMaxNumaId);
  const auto known = std::ranges::find(nodes, id.value_or(-1), &NumaNode::id);
  if (known != nodes.end()) return *known;
  if (nodes.size() > 1)
    sysfs_.repair(file, fmt::format("{}, which is no NUMA node with CPUs: {} is taken to be at node {}",
                                    id ? fmt::format("{}", *id) : "absent", root.bus_id, nodes.front().id));
  return nodes.front();
}

void PciTree::move_into(std::vector<NumaNode>& nodes) {
  report_hidden_bridges();
  for (PciDevice& root : roots_) {
    forget_emulated_links(root);
    std::vector<PciDevice>& devices = node_of(root, nodes).devices;
    devices.push_back(std::move(root));
  }
  roots_.clear();
}

}  // namespace rondo
