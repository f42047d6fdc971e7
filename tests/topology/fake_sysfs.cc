// SPDX-License-Identifier: Apache-2.0
#include "fake_sysfs.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace rondo::test {
namespace {

namespace fs = std::filesystem;

std::string value_of(const Attributes& attributes, const std::string& name) {
  for (const auto& [known, value] : attributes)
    if (known == name) return value;
  return {};
}

/// NCCL counts the ports of verbs devices from 1; other interfaces have port 0.
bool is_verbs(const NetPort& port) {
  const std::string number = value_of(port.extra, "port");
  return !number.empty() && number != "0";
}

}  // namespace

void FakeSysfs::file(const std::string& path, const std::string& line) const {
  const fs::path full = *this / path;
  fs::create_directories(full.parent_path());
  std::ofstream(full) << line << '\n';
}

void FakeSysfs::link(const std::string& path, const std::string& target) const {
  const fs::path full = *this / path;
  fs::create_directories(full.parent_path());
  fs::create_symlink(*this / target, full);
}

void FakeSysfs::write(const Machine& machine) {
  write_processor(machine.numa.front());
  for (const NumaNode& numa : machine.numa) {
    if (numa.id >= 0)
      file(fmt::format("devices/system/node/node{}/cpumap", numa.id),
           numa.affinity.empty() ? "1" : numa.affinity);
    for (const PciDevice& device : numa.devices)
      write_tree(device, fmt::format("devices/pci{}", device.bus_id.substr(0, device.bus_id.rfind(':'))),
                 numa.id);
    for (const NetPort& port : numa.ports) write_port(port, "devices/virtual");
  }
}

void FakeSysfs::write_processor(const NumaNode& numa) const {
  std::string type = numa.arch == "arm64" ? "aarch64" : "power9";
  if (numa.arch == "x86_64")
    type = fmt::format("x86,ven{:04X}fam{:04X}mod{:04X}", numa.vendor == "AuthenticAMD" ? 2 : 0, numa.family,
                       numa.model);
  file("devices/system/cpu/modalias", fmt::format("cpu:type:{}:feature:,0000,0001", type));
}

std::string FakeSysfs::new_port(const PciDevice& below, const std::string& above, int numa_id) {
  const std::string bus_id = fmt::format("fffe:{:02x}:{:02x}.0", next_port_ / 32, next_port_ % 32);
  ++next_port_;
  PciDevice port{.bus_id = bus_id,
                 .pci_class = "0x060400",
                 .link_speed = below.link_speed,
                 .link_width = below.link_width};
  write_function(port, bus_id, above + "/" + bus_id, numa_id);
  return above + "/" + bus_id;
}

/// What has no link, and nothing below, is written as virtual machines show it: without a port above.
void FakeSysfs::write_tree(const PciDevice& device, const std::string& above, int numa_id) {
  const bool has_port = device.link_width > 0 || !device.below.empty() || !above.starts_with("devices/pci");
  const std::string port = has_port ? new_port(device, above, numa_id) : above;
  const std::string folder = port + "/" + device.bus_id;
  write_function(device, device.bus_id, folder, numa_id);
  const std::string slot = device.bus_id.substr(0, device.bus_id.size() - 1);
  for (size_t i = 0; i != device.ports.size(); ++i) {  // each on a function of its own
    const std::string bus_id = i == 0 ? device.bus_id : fmt::format("{}{}", slot, i);
    const std::string function = fmt::format("{}/{}", port, bus_id);
    if (i > 0) write_function(device, bus_id, function, numa_id);
    write_port(device.ports[i], function);
  }
  for (const PciDevice& below : device.below) write_tree(below, folder, numa_id);
}

void FakeSysfs::write_function(const PciDevice& device, const std::string& bus_id, const std::string& folder,
                               int numa_id) const {
  file(folder + "/class", device.pci_class);
  for (const auto& [name, value] : device.extra) file(folder + "/" + name, value);
  if (device.gpu) file(folder + "/vendor", device.gpu->gfx.empty() ? "0x10de" : "0x1002");
  file(folder + "/numa_node", std::to_string(numa_id));
  if (!device.link_speed.empty()) {
    file(folder + "/max_link_speed", device.link_speed);
    file(folder + "/current_link_speed", "2.5 GT/s PCIe");  // idle
  }
  if (device.link_width > 0) {
    file(folder + "/max_link_width", std::to_string(device.link_width));
    file(folder + "/current_link_width", std::to_string(device.link_width));
  }
  link("bus/pci/devices/" + bus_id, folder);
}

void FakeSysfs::write_port(const NetPort& port, const std::string& function) const {
  const char* const kind = is_verbs(port) ? "infiniband" : "net";
  const std::string folder = fmt::format("{}/{}/{}", function, kind, port.name);
  const std::string name = fmt::format("class/{}/{}", kind, port.name);
  if (fs::exists(*this / name)) return;  // files list interfaces without a PCI device below each NUMA node
  if (is_verbs(port)) {
    file(folder + "/ports/1/state", "4: ACTIVE");
    file(folder + "/ports/1/rate",
         fmt::format("{:g} Gb/sec (4X NDR)", static_cast<double>(port.speed_Mbps) / 1000));
  } else {
    file(folder + "/type", "1");
    file(folder + "/operstate", "up");
    file(folder + "/speed", port.speed_Mbps > 0 ? std::to_string(port.speed_Mbps) : "-1");
  }
  link(name, folder);
}

}  // namespace rondo::test
