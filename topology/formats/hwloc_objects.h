// SPDX-License-Identifier: Apache-2.0
// What the readers of hwloc's XML share: objects by the number that its matrices refer to, and repairs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/machine.h"
#include "xml_document.h"

namespace rondo {

enum class HwlocKind : uint8_t { Gpu, NvSwitch, Package };

struct HwlocObject {
  HwlocKind kind = HwlocKind::Gpu;
  std::string bus_id;    // of the PCI device; of a package empty
  int64_t package = -1;  // the gp_index of the package that it is in, or that it is; -1: unknown
  friend bool operator==(const HwlocObject&, const HwlocObject&) = default;
};

/// By gp_index.
using HwlocObjects = std::map<int64_t, HwlocObject>;

constexpr int64_t kMaxGpIndex = int64_t{1} << 48;

inline bool is_hwloc_object(pugi::xml_node element, std::string_view type) {
  return std::string_view(element.name()) == "object" && element.attribute("type").value() == type;
}

/// The value of <info name="NAME">; empty if there is none.
inline std::string_view hwloc_info(pugi::xml_node object, std::string_view name) {
  for (const pugi::xml_node info : object.children("info"))
    if (info.attribute("name").value() == name) return info.attribute("value").value();
  return {};
}

template <typename... Args>
void add_repair(Machine& machine, int line, fmt::format_string<Args...> format, Args&&... args) {
  machine.repairs.push_back(place(machine, line) + ": " + fmt::format(format, std::forward<Args>(args)...));
}

/// Calls `visit` with each device that has a GPU, in the order of the file.
template <typename Visit>
void visit_gpus(std::vector<PciDevice>& devices, const Visit& visit) {
  for (PciDevice& device : devices) {
    if (device.gpu) visit(device);
    visit_gpus(device.below, visit);
  }
}

template <typename Visit>
void visit_gpus(Machine& machine, const Visit& visit) {
  for (NumaNode& numa : machine.numa) visit_gpus(numa.devices, visit);
}

}  // namespace rondo
