// SPDX-License-Identifier: Apache-2.0
#include "fake_sysfs.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Files have "908", "910" for gfx90a, or "gfx942".
int gfx_version_of(std::string gfx) {
  if (gfx.starts_with("gfx")) gfx.erase(0, 3);
  if (gfx == "910") gfx = "90a";
  return std::stoi(gfx.substr(0, 1)) * 10'000 + std::stoi(gfx.substr(1, 1)) * 100 +
         std::stoi(gfx.substr(2), nullptr, 16);
}

constexpr const char* kKfdNodes = "class/kfd/kfd/topology/nodes";

void collect_amd_gpus(const std::vector<PciDevice>& devices,
                      std::map<int, std::pair<std::string, const GpuInfo*>>& gpus) {
  for (const PciDevice& device : devices) {
    if (device.gpu && !device.gpu->gfx.empty()) gpus[device.gpu->dev] = {device.bus_id, &*device.gpu};
    collect_amd_gpus(device.below, gpus);
  }
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
  write_kfd(machine);
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

/// CPUs have the first nodes, GPUs the next ones by their numbers.
void FakeSysfs::write_kfd(const Machine& machine) {
  std::map<int, std::pair<std::string, const GpuInfo*>> gpus;
  for (const NumaNode& numa : machine.numa) collect_amd_gpus(numa.devices, gpus);
  if (gpus.empty()) return;
  for (const auto& [dev, gpu] : gpus)
    kfd_nodes_.emplace(gpu.first, static_cast<int>(machine.numa.size() + kfd_nodes_.size()));
  for (size_t i = 0; i != machine.numa.size(); ++i)
    file(fmt::format("{}/{}/properties", kKfdNodes, i),
         "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0");
  for (const auto& [dev, found] : gpus) {
    const auto& [bus_id, gpu] = found;
    const std::string folder = fmt::format("{}/{}", kKfdNodes, kfd_nodes_.at(bus_id));
    const auto number = [text = bus_id](size_t at, size_t digits) {
      return std::stol(text.substr(at, digits), nullptr, 16);
    };
    const size_t bus = bus_id.size() - 7;
    file(folder + "/properties",
         fmt::format("cpu_cores_count 0\nsimd_count {}\nsimd_per_cu 4\ngfx_target_version {}\ndomain "
                     "{}\nlocation_id {}",
                     gpu->sm * 4, gfx_version_of(gpu->gfx), number(0, bus - 1),
                     number(bus, 2) << 8 | number(bus + 3, 2) << 3 | number(bus + 6, 1)));
    write_kfd_links(*gpu, folder + "/io_links");
  }
}

/// PCIe to a CPU, links as described, and two of them in a row to GPUs that have none.
void FakeSysfs::write_kfd_links(const GpuInfo& gpu, const std::string& folder) const {
  int next = 0;
  const auto add = [&](int type, int node, int weight, int count) {
    file(fmt::format("{}/{}/properties", folder, next++),
         fmt::format("type {}\nnode_to {}\nweight {}\nmin_bandwidth 50000\nmax_bandwidth {}", type, node,
                     weight, 50'000 * count));
  };
  add(2, 0, 20, 1);
  for (const auto& [bus_id, node] : kfd_nodes_) {
    const auto links = std::ranges::find(gpu.links, bus_id, &FabricLinks::target_bus_id);
    if (links != gpu.links.end())
      add(11, node, 15, links->count);
    else
      add(11, node, 30, 1);
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
  std::string folder = fmt::format("{}/{}", above, bus_id);
  write_function(port, bus_id, folder, numa_id);
  return folder;
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
