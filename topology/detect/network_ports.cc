// SPDX-License-Identifier: Apache-2.0
#include "network_ports.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace rondo {
namespace {

constexpr const char* kVerbs = "class/infiniband";
constexpr const char* kInterfaces = "class/net";
constexpr int kEthernet = 1;  // ARPHRD_ETHER

/// 400000 of "400 Gb/sec (4X NDR)", 2500 of "2.5 Gb/sec (1X SDR)"; 0: it is none.
int64_t megabits_of(const std::string& rate) {
  double gigabits = 0;
  const auto [end, failure] = std::from_chars(rate.data(), rate.data() + rate.size(), gigabits);
  const std::string_view unit(end, static_cast<size_t>(rate.data() + rate.size() - end));
  if (failure != std::errc() || !unit.starts_with(" Gb/sec")) return 0;
  if (!(gigabits > 0) || gigabits * 1000 > static_cast<double>(kMaxPort_Mbps)) return 0;
  return std::llround(gigabits * 1000);
}

class PortFinder {
 public:
  explicit PortFinder(Sysfs& sysfs) : sysfs_(sysfs) {}

  std::vector<FoundPort> find() {
    for (const std::string& name : sysfs_.names(kVerbs)) add_verbs_device(name);
    report_unused(kVerbs);
    for (const std::string& name : sysfs_.names(kInterfaces)) add_interface(name);
    report_unused(kInterfaces);
    leave_out_virtual_functions();
    if (found_.empty()) add_virtual_interfaces();
    for (size_t i = 0; i != found_.size(); ++i) found_[i].port.dev = static_cast<int>(i);
    return std::move(found_);
  }

 private:
  void add_verbs_device(const std::string& name) {
    const std::string folder = fmt::format("{}/{}", kVerbs, name);
    const std::string device = sysfs_.device_of(folder);
    if (device.empty() || is_virtual(device)) return;
    const PciPath path = pci_path_of(device);
    std::string guid = sysfs_.text(folder + "/sys_image_guid");
    std::erase(guid, ':');
    for (const std::string& number : sysfs_.names(folder + "/ports")) {
      const std::string port_folder = fmt::format("{}/ports/{}", folder, number);
      const std::string port_name = number == "1" ? name : fmt::format("{}:{}", name, number);
      if (!sysfs_.text(port_folder + "/state").ends_with("ACTIVE")) {
        unused_.push_back(port_name);
        continue;
      }
      NetPort port{.name = port_name, .extra = {{"port", number}}};
      if (!guid.empty()) port.extra.emplace_back("guid", "0x" + guid);
      const std::string rate = sysfs_.text(port_folder + "/rate");
      port.speed_Mbps = megabits_of(rate);
      if (port.speed_Mbps == 0 && !rate.empty())
        sysfs_.repair(port_folder + "/rate", fmt::format("'{}' is not a rate such as '100 Gb/sec (4X EDR)': "
                                                         "taken as not known",
                                                         rate.substr(0, 64)));
      found_.push_back({std::move(port), path});
      if (!path.bus_ids.empty()) verbs_cards_.insert(path.slot());
    }
  }

  void add_interface(const std::string& name) {
    const std::string device = sysfs_.device_of(fmt::format("{}/{}", kInterfaces, name));
    if (device.empty()) return;
    if (is_virtual(device)) {
      virtual_interfaces_.push_back(name);
      return;
    }
    PciPath path = pci_path_of(device);
    if (!path.bus_ids.empty() && verbs_cards_.contains(path.slot())) return;
    if (is_up(name))
      add_ethernet(name, std::move(path));
    else
      unused_.push_back(name);
  }

  /// A container has an interface that is virtual, and the way out.
  void add_virtual_interfaces() {
    for (const std::string& name : virtual_interfaces_) {
      const bool is_bridge = !sysfs_.names(fmt::format("{}/{}/bridge", kInterfaces, name)).empty();
      const bool is_ethernet =
          sysfs_.number(fmt::format("{}/{}/type", kInterfaces, name), 0, 65'535).value_or(0) == kEthernet;
      if (is_bridge || !is_ethernet || !is_up(name)) continue;
      add_ethernet(name, {});
      sysfs_.repair(fmt::format("{}/{}", kInterfaces, name),
                    "virtual, but the host shows no other interface: taken to be its way out");
    }
  }

  void add_ethernet(const std::string& name, PciPath path) {
    NetPort port{.name = name, .extra = {{"port", "0"}}};
    const auto speed =
        sysfs_.number(fmt::format("{}/{}/speed", kInterfaces, name), -1, kMaxPort_Mbps).value_or(0);
    port.speed_Mbps = std::max<int64_t>(speed, 0);
    found_.push_back({std::move(port), std::move(path)});
  }

  /// Drivers that do not report a carrier leave the state unknown.
  bool is_up(const std::string& name) {
    const std::string state = sysfs_.text(fmt::format("{}/{}/operstate", kInterfaces, name));
    return state == "up" || state == "unknown";
  }

  /// Of cards whose physical functions were found too. A virtual machine or container may have the virtual
  /// one alone, and its port counts.
  void leave_out_virtual_functions() {
    std::set<std::string> functions;
    for (const FoundPort& found : found_)
      if (!found.path.bus_ids.empty()) functions.insert(found.path.bus_ids.back());
    std::erase_if(found_, [&](const FoundPort& found) {
      if (found.path.bus_ids.empty()) return false;
      const PciPath physical = pci_path_of(sysfs_.device_of(found.path.folders.back() + "/physfn"));
      return !physical.bus_ids.empty() && functions.contains(physical.bus_ids.back());
    });
  }

  static bool is_virtual(const std::string& device) { return device.starts_with("devices/virtual/"); }

  void report_unused(const char* folder) {
    if (!unused_.empty())
      sysfs_.repair(folder, fmt::format("not in use: {}: left out", fmt::join(unused_, ", ")));
    unused_.clear();
  }

  Sysfs& sysfs_;
  std::vector<FoundPort> found_;
  std::vector<std::string> unused_, virtual_interfaces_;
  std::set<std::string> verbs_cards_;  // slots
};

}  // namespace

std::vector<FoundPort> find_ports(Sysfs& sysfs) { return PortFinder(sysfs).find(); }

}  // namespace rondo
