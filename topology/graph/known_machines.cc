// SPDX-License-Identifier: Apache-2.0
// Put together from what the makers publish: two sockets, below each of them PCI switches, below each of
// these GPUs and NICs, and the GPUs' own links beside. Bus ids are made up.
#include "graph/known_machines.h"

#include <fmt/ranges.h>

#include <array>
#include <span>

#include "base/error_kinds.h"
#include "base/words.h"

namespace rondo {
namespace {

struct Processor {
  const char* vendor;
  int family;
  int model;
};
constexpr Processor kBroadwell = {"GenuineIntel", 6, 79}, kSkylake = {"GenuineIntel", 6, 85},
                    kIceLake = {"GenuineIntel", 6, 106}, kSapphireRapids = {"GenuineIntel", 6, 143},
                    kEmeraldRapids = {"GenuineIntel", 6, 207}, kRome = {"AuthenticAMD", 23, 49},
                    kMilan = {"AuthenticAMD", 25, 1};

constexpr const char* kGen3 = "8.0 GT/s PCIe";
constexpr const char* kGen4 = "16.0 GT/s PCIe";
constexpr const char* kGen5 = "32.0 GT/s PCIe";

/// Links between two GPUs, both ways.
struct LinkedPair {
  int a, b, count;
};
// Two fully connected quads, whose GPUs of the same place are joined too; six links a GPU.
constexpr LinkedPair kHybridCubeMesh[] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2},
                                          {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2},
                                          {0, 4, 2}, {1, 5, 2}, {2, 6, 1}, {3, 7, 1}};
// Four packages of two dies, with four links inside a package.
constexpr LinkedPair kMi250[] = {{0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4}, {0, 4, 2}, {2, 6, 2},
                                 {0, 6, 1}, {1, 3, 1}, {1, 7, 1}, {2, 4, 1}, {3, 5, 1}, {5, 7, 1}};

struct MachineRow {
  KnownMachine known;
  Processor processor;
  const char* pcie;
  int gpus;
  int gpus_of_switch;
  int nics_of_switch;
  int64_t nic_Mbps;
  int sm;                // as GpuInfo has it
  const char* gfx = "";  // of AMD's GPUs
  std::span<const LinkedPair> pairs = {};
  bool all_pairs = false;               // a link between any two GPUs
  std::array<int, 6> nvswitch_links{};  // of each GPU, to each NVSwitch
};

constexpr MachineRow kRows[] = {
    {.known = {"dgx-1v", "DGX-1V: 8 V100, NVLink 2 as a hybrid cube mesh, PCIe 3.0, 4 x 100 Gbit/s"},
     .processor = kBroadwell,
     .pcie = kGen3,
     .gpus = 8,
     .gpus_of_switch = 2,
     .nics_of_switch = 1,
     .nic_Mbps = 100'000,
     .sm = 70,
     .pairs = kHybridCubeMesh},
    {.known = {"dgx-2", "DGX-2: 16 V100, NVLink 2 through NVSwitches, PCIe 3.0, 8 x 100 Gbit/s"},
     .processor = kSkylake,
     .pcie = kGen3,
     .gpus = 16,
     .gpus_of_switch = 2,
     .nics_of_switch = 1,
     .nic_Mbps = 100'000,
     .sm = 70,
     .nvswitch_links = {1, 1, 1, 1, 1, 1}},
    {.known = {"hgx-a100", "HGX A100: 8 A100, NVLink 3 through NVSwitches, PCIe 4.0, 8 x 200 Gbit/s"},
     .processor = kRome,
     .pcie = kGen4,
     .gpus = 8,
     .gpus_of_switch = 2,
     .nics_of_switch = 2,
     .nic_Mbps = 200'000,
     .sm = 80,
     .nvswitch_links = {2, 2, 2, 2, 2, 2}},
    {.known = {"hgx-h100", "HGX H100: 8 H100, NVLink 4 through NVSwitches, PCIe 5.0, 8 x 400 Gbit/s"},
     .processor = kSapphireRapids,
     .pcie = kGen5,
     .gpus = 8,
     .gpus_of_switch = 2,
     .nics_of_switch = 2,
     .nic_Mbps = 400'000,
     .sm = 90,
     .nvswitch_links = {4, 5, 5, 4}},
    {.known = {"hgx-h200", "HGX H200: 8 H200, NVLink 4 through NVSwitches, PCIe 5.0, 8 x 400 Gbit/s"},
     .processor = kSapphireRapids,
     .pcie = kGen5,
     .gpus = 8,
     .gpus_of_switch = 2,
     .nics_of_switch = 2,
     .nic_Mbps = 400'000,
     .sm = 90,
     .nvswitch_links = {4, 5, 5, 4}},
    {.known = {"hgx-b200", "HGX B200: 8 B200, NVLink 5 through NVSwitches, PCIe 5.0, 8 x 400 Gbit/s"},
     .processor = kEmeraldRapids,
     .pcie = kGen5,
     .gpus = 8,
     .gpus_of_switch = 2,
     .nics_of_switch = 2,
     .nic_Mbps = 400'000,
     .sm = 100,
     .nvswitch_links = {9, 9}},
    {.known = {"mi250", "4 MI250 of 2 dies each, xGMI, PCIe 4.0, 4 x 200 Gbit/s"},
     .processor = kMilan,
     .pcie = kGen4,
     .gpus = 8,
     .gpus_of_switch = 2,
     .nics_of_switch = 1,
     .nic_Mbps = 200'000,
     .sm = 104,
     .gfx = "gfx90a",
     .pairs = kMi250},
    {.known = {"mi300x", "8 MI300X, xGMI between any two, PCIe 5.0, 8 x 400 Gbit/s"},
     .processor = kSapphireRapids,
     .pcie = kGen5,
     .gpus = 8,
     .gpus_of_switch = 1,
     .nics_of_switch = 1,
     .nic_Mbps = 400'000,
     .sm = 304,
     .gfx = "gfx942",
     .all_pairs = true},
    {.known = {"pcie-8gpu", "8 GPUs on two sockets with a PCIe 4.0 switch each, no NVLink, 2 x 100 Gbit/s"},
     .processor = kIceLake,
     .pcie = kGen4,
     .gpus = 8,
     .gpus_of_switch = 4,
     .nics_of_switch = 1,
     .nic_Mbps = 100'000,
     .sm = 89},
};

constexpr int kSockets = 2;

std::string bus_id(int bus, int device) { return fmt::format("0000:{:02x}:{:02x}.0", bus, device); }
int bus_of_switch(int index) { return 0x10 * (index + 1); }
std::string gpu_bus_id(const MachineRow& row, int dev) {
  return bus_id(bus_of_switch(dev / row.gpus_of_switch) + 1, dev % row.gpus_of_switch);
}
std::string nvswitch_bus_id(int index) { return bus_id(0xc0, index); }

std::vector<FabricLinks> links_of(const MachineRow& row, int dev) {
  std::vector<FabricLinks> links;
  const FabricKind kind = *row.gfx != '\0' ? FabricKind::Xgmi : FabricKind::NvLink;
  const std::string gpu_class = kind == FabricKind::Xgmi ? "0x038000" : "0x030200";
  const auto add = [&](FabricTarget target, const std::string& to, const std::string& target_class,
                       int count) {
    links.push_back(
        {.kind = kind, .target = target, .target_bus_id = to, .target_class = target_class, .count = count});
  };
  for (const LinkedPair& pair : row.pairs)
    if (pair.a == dev || pair.b == dev)
      add(FabricTarget::Gpu, gpu_bus_id(row, pair.a == dev ? pair.b : pair.a), gpu_class, pair.count);
  for (int other = 0; row.all_pairs && other != row.gpus; ++other)
    if (other != dev) add(FabricTarget::Gpu, gpu_bus_id(row, other), gpu_class, 1);
  for (size_t i = 0; i != row.nvswitch_links.size(); ++i)
    if (row.nvswitch_links[i] > 0)
      add(FabricTarget::NvSwitch, nvswitch_bus_id(static_cast<int>(i)), kNvSwitchClass,
          row.nvswitch_links[i]);
  return links;
}

PciDevice function(const MachineRow& row, std::string bus_id, const char* pci_class) {
  PciDevice device;
  device.bus_id = std::move(bus_id);
  device.pci_class = pci_class;
  device.link_speed = row.pcie;
  device.link_width = 16;
  return device;
}

PciDevice switch_of(const MachineRow& row, int index) {
  PciDevice result = function(row, bus_id(bus_of_switch(index), 0), "0x060400");
  for (int i = 0; i != row.gpus_of_switch; ++i) {
    const int dev = index * row.gpus_of_switch + i;
    PciDevice& gpu = result.below.emplace_back(
        function(row, gpu_bus_id(row, dev), *row.gfx != '\0' ? "0x038000" : "0x030200"));
    gpu.gpu =
        GpuInfo{.dev = dev, .rank = dev, .sm = row.sm, .gfx = row.gfx, .gdr = 1, .links = links_of(row, dev)};
  }
  for (int i = 0; i != row.nics_of_switch; ++i) {
    const int dev = index * row.nics_of_switch + i;
    PciDevice& nic =
        result.below.emplace_back(function(row, bus_id(bus_of_switch(index) + 2, i), "0x020700"));
    nic.has_nic = true;
    nic.ports = {NetPort{.name = fmt::format("mlx5_{}", dev), .dev = dev, .speed_Mbps = row.nic_Mbps}};
  }
  return result;
}

Machine made(const MachineRow& row) {
  Machine machine;
  machine.source = row.known.name;
  machine.version = *row.gfx != '\0' ? 2 : 1;
  const int switches = row.gpus / row.gpus_of_switch;
  for (int socket = 0; socket != kSockets; ++socket) {
    NumaNode& numa = machine.numa.emplace_back();
    numa.id = socket;
    numa.arch = "x86_64";
    numa.vendor = row.processor.vendor;
    numa.family = row.processor.family;
    numa.model = row.processor.model;
    for (int i = socket * switches / kSockets; i != (socket + 1) * switches / kSockets; ++i)
      numa.devices.push_back(switch_of(row, i));
  }
  return machine;
}

}  // namespace

std::vector<KnownMachine> known_machines() {
  std::vector<KnownMachine> result;
  for (const MachineRow& row : kRows) result.push_back(row.known);
  return result;
}

Result<Machine> known_machine(std::string_view name) {
  std::vector<std::string_view> names;
  for (const MachineRow& row : kRows) {
    if (row.known.name == name) return made(row);
    names.push_back(row.known.name);
  }
  return error(ErrorKind::NameUnknown, "no machine is called '{}'; known are: {}{}", name.substr(0, 64),
               fmt::join(names, ", "), did_you_mean(name, names));
}

}  // namespace rondo
