// SPDX-License-Identifier: Apache-2.0
// detect_machine() on folders that look like /sys: those of recorded machines, and those that are odd.
#include "detect/detect_machine.h"

#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <map>

#include "catch.h"
#include "detected.h"
#include "formats/nccl_xml.h"
#include "graph/known_machines.h"
#include "graph_lines.h"
#include "machine_content.h"
#include "nccl_host.h"
#include "pci_tree.h"

namespace {

using namespace rondo;
using namespace rondo::test;

/// With a Mellanox card on two functions and an Ethernet card, below a switch and beside it.
Machine small_host() {
  return host(
      {pci_switch("0000:10:00.0", {nic("0000:11:00.0", "mlx5_0", "1")}), nic("0000:12:00.0", "eth0", "0")});
}

}  // namespace

TEST_CASE("recorded machines of AMD are detected with the graphs of their files") {
  for (const std::string& path : recorded_topologies()) {
    auto read = machine_from_nccl_xml_file(path);
    REQUIRE(read.status().message() == "");
    Machine expected = read.take();
    if (expected.version != 2) continue;
    INFO(path);
    const Machine machine = detected(FakeSysfs(expected));
    move_virtual_interfaces(expected);
    CHECK(graph_lines(graph_of(machine)) == graph_lines(graph_of(expected)));
  }
}

TEST_CASE("well-known machines of AMD are detected with their graphs") {
  int count = 0;
  for (const KnownMachine& known : known_machines()) {
    auto expected = known_machine(known.name);
    REQUIRE(expected.ok());
    bool is_amd = false;
    visit_devices(expected.value(),
                  [&](const PciDevice& device) { is_amd |= device.gpu && !device.gpu->gfx.empty(); });
    if (!is_amd) continue;
    ++count;
    INFO(known.name);
    CHECK(graph_lines(graph_of(detected(FakeSysfs(expected.value())))) ==
          graph_lines(graph_of(expected.value())));
  }
  CHECK(count > 0);
}

TEST_CASE("AMD's GPUs are those that its driver shows, and without it PCI devices") {
  PciDevice gpu{
      .bus_id = "0000:0c:00.0", .pci_class = "0x120000", .link_speed = "32.0 GT/s PCIe", .link_width = 16};
  gpu.gpu = GpuInfo{.dev = 0, .sm = 304, .gfx = "gfx942"};
  const FakeSysfs sysfs(host({gpu}));
  CHECK(detected(sysfs).numa.front().devices.front().gpu->gfx == "gfx942");
  CHECK(detected(sysfs).numa.front().devices.front().gpu->sm == 304);
  std::filesystem::remove(sysfs / "class/kfd/kfd/topology/nodes/1/properties");  // as a cgroup hides it
  CHECK(detected(sysfs).numa.front().devices.empty());
  std::filesystem::remove_all(sysfs / "class/kfd");
  const Machine machine = detected(sysfs);
  REQUIRE(machine.numa.front().devices.size() == 1);
  CHECK(!machine.numa.front().devices.front().gpu);
}

TEST_CASE("GPUs of AMD that are divided into parts are whole, with the links of one part") {
  std::vector<PciDevice> gpus;
  for (const auto& [bus_id, other] :
       {std::pair("0000:0c:00.0", "0000:0d:00.0"), {"0000:0d:00.0", "0000:0c:00.0"}}) {
    PciDevice& gpu = gpus.emplace_back(PciDevice{.bus_id = bus_id, .pci_class = "0x120000"});
    gpu.gpu = GpuInfo{.dev = static_cast<int>(gpus.size()) - 1,
                      .sm = 38,
                      .gfx = "gfx942",
                      .links = {{.kind = FabricKind::Xgmi, .target_bus_id = other}}};
  }
  const FakeSysfs sysfs(host(gpus));
  // Nodes 1 and 3 are the parts of one GPU, 2 and 4 those of the other.
  const std::string nodes = "class/kfd/kfd/topology/nodes/";
  for (int node = 1; node != 5; ++node) {
    const std::string folder = nodes + std::to_string(node);
    std::filesystem::create_directory(sysfs / folder);
    if (node > 2)
      std::filesystem::copy_file(sysfs / nodes + std::to_string(node - 2) + "/properties",
                                 sysfs / folder + "/properties");
    std::filesystem::remove_all(sysfs / folder + "/io_links");
    for (int other = 1; other != 5; ++other)
      if (other != node)
        sysfs.file(fmt::format("{}/io_links/{}/properties", folder, other),
                   fmt::format("type 11\nnode_to {}\nweight {}\nmin_bandwidth 0\nmax_bandwidth 0", other,
                               (other - node) % 2 == 0 ? 13 : 41));
  }
  const Machine machine = detected(sysfs);
  REQUIRE(machine.numa.front().devices.size() == 2);
  for (const PciDevice& device : machine.numa.front().devices) {
    REQUIRE(device.gpu->links.size() == 1);
    CHECK(device.gpu->links[0].target_bus_id == gpus[device.gpu->dev == 0 ? 1 : 0].bus_id);
    CHECK(device.gpu->links[0].count == 1);
  }
}

TEST_CASE("this host is detected, and has a graph") {
  const auto machine = detect_machine({});
  REQUIRE(machine.status().message() == "");
  CHECK(!machine.value().numa.empty());
  CHECK(TopologyGraph::build(machine.value()).status().message() == "");
}

TEST_CASE("a switch is the upper port of it, with the link to the port above") {
  const Machine machine = detected(FakeSysfs(small_host()));
  CHECK(machine.repairs.empty());
  REQUIRE(machine.numa.size() == 1);
  const NumaNode& numa = machine.numa.front();
  CHECK(numa.affinity == "00000000,ffffffff");
  CHECK(numa.vendor == "GenuineIntel");
  CHECK(numa.family == 6);
  CHECK(numa.model == 143);
  REQUIRE(numa.devices.size() == 2);
  CHECK(numa.devices[0].bus_id == "0000:10:00.0");
  CHECK(numa.devices[0].link_speed == "16.0 GT/s PCIe");
  CHECK(numa.devices[0].link_width == 16);
  REQUIRE(numa.devices[0].below.size() == 1);
  CHECK(numa.devices[0].below[0].bus_id == "0000:11:00.0");
  REQUIRE(numa.devices[0].below[0].ports.size() == 1);
  CHECK(numa.devices[0].below[0].ports[0].name == "mlx5_0");
  CHECK(numa.devices[0].below[0].ports[0].speed_Mbps == 200'000);
}

TEST_CASE("functions of a card are one device, whose link they share") {
  PciDevice card = nic("0000:11:00.0", "mlx5_0", "1");
  card.ports.push_back({.name = "mlx5_1", .extra = {{"port", "2"}}});
  const Machine machine = detected(FakeSysfs(host({card})));
  REQUIRE(machine.numa.front().devices.size() == 1);
  const PciDevice& device = machine.numa.front().devices.front();
  CHECK(device.bus_id == "0000:11:00.0");
  REQUIRE(device.ports.size() == 2);
  CHECK(device.ports[1].name == "mlx5_1");
}

TEST_CASE("functions of a card are the one of the lowest number, however their ports are named") {
  FakeSysfs sysfs(host({nic("0000:11:00.0", "mlx5_9", "1"), nic("0000:11:00.1", "mlx5_0", "1")}));
  const Machine machine = detected(sysfs);
  REQUIRE(machine.numa.front().devices.size() == 1);
  CHECK(machine.numa.front().devices.front().bus_id == "0000:11:00.0");
  CHECK(machine.numa.front().devices.front().ports.size() == 2);
}

TEST_CASE("ports of virtual functions count if those of the physical function are not shown") {
  FakeSysfs sysfs(host({nic("0000:11:00.0", "mlx5_0", "1"), nic("0000:11:04.1", "mlx5_1", "1"),
                        nic("0000:11:04.2", "eth7", "0")}));
  for (const std::string bus_id : {"0000:11:04.1", "0000:11:04.2"})
    sysfs.link(sysfs.function(bus_id) + "/physfn", sysfs.function("0000:11:00.0"));
  const Machine machine = detected(sysfs);
  REQUIRE(machine.numa.front().devices.size() == 1);
  CHECK(machine.numa.front().devices.front().bus_id == "0000:11:00.0");
  CHECK(machine.repairs.empty());
  std::filesystem::remove(sysfs / "class/infiniband/mlx5_0");
  const Machine container = detected(sysfs);
  REQUIRE(container.numa.front().devices.size() == 1);
  CHECK(container.numa.front().devices.front().bus_id == "0000:11:04.1");
  CHECK(container.numa.front().devices.front().ports.size() == 1);
}

TEST_CASE("a verbs device that is software is no port of its own") {
  FakeSysfs sysfs(host({nic("0000:11:00.0", "eth0", "0")}));
  sysfs.file("devices/virtual/infiniband/rxe0/ports/1/state", "4: ACTIVE");
  sysfs.link("class/infiniband/rxe0", "devices/virtual/infiniband/rxe0");
  const Machine machine = detected(sysfs);
  CHECK(machine.numa.front().ports.empty());
  CHECK(machine.numa.front().devices.front().ports.front().name == "eth0");
}

TEST_CASE("a PCI tree may begin at a host bridge below another one") {
  const PciPath path =
      pci_path_of("devices/pci0000:80/0000:80:0e.0/pci10000:00/10000:00:02.0/10000:01:00.0/nvme/nvme0");
  CHECK(path.bus_ids == std::vector<std::string>{"10000:00:02.0", "10000:01:00.0"});
  CHECK(path.folders.back() == "devices/pci0000:80/0000:80:0e.0/pci10000:00/10000:00:02.0/10000:01:00.0");
  CHECK(pci_path_of("devices/virtual/net/lo").bus_ids.empty());
}

TEST_CASE("an interface of a verbs device is the same port") {
  FakeSysfs sysfs(host({nic("0000:11:00.0", "mlx5_0", "1")}));
  const std::string function = "devices/pci0000:11/fffe:00:00.0/0000:11:00.0/net/ens1";
  sysfs.file(function + "/operstate", "up");
  sysfs.link("class/net/ens1", function);
  const Machine machine = detected(sysfs);
  CHECK(machine.numa.front().devices.front().ports.size() == 1);
}

TEST_CASE("ports that are not in use are left out, and named") {
  FakeSysfs sysfs(small_host());
  sysfs.file("class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
  sysfs.file("class/net/eth0/operstate", "down");
  const Machine machine = detected(sysfs);
  CHECK(machine.numa.front().devices.empty());
  check_repair(machine, "/class/infiniband: not in use: mlx5_0: left out");
  check_repair(machine, "/class/net: not in use: eth0: left out");
}

TEST_CASE("a virtual interface counts if there is no other") {
  Machine container = host({});
  container.numa.front().ports = {{.name = "eth0", .speed_Mbps = 10'000}};
  FakeSysfs sysfs(container);
  sysfs.file("devices/virtual/net/lo/type", "772");
  sysfs.file("devices/virtual/net/lo/operstate", "unknown");
  sysfs.link("class/net/lo", "devices/virtual/net/lo");
  sysfs.file("devices/virtual/net/br0/type", "1");
  sysfs.file("devices/virtual/net/br0/operstate", "up");
  sysfs.file("devices/virtual/net/br0/bridge/stp_state", "0");
  sysfs.link("class/net/br0", "devices/virtual/net/br0");
  const Machine alone = detected(sysfs);
  REQUIRE(alone.numa.front().ports.size() == 1);
  CHECK(alone.numa.front().ports.front().name == "eth0");
  check_repair(alone, "/class/net/eth0: virtual, but the host shows no other interface");
  sysfs.write(host({nic("0000:11:00.0", "mlx5_0", "1")}));
  CHECK(detected(sysfs).numa.front().ports.empty());
}

TEST_CASE("a link that has lost lanes is described as it is") {
  FakeSysfs sysfs(small_host());
  sysfs.file(sysfs.function("0000:12:00.0") + "/current_link_width", "4");
  const Machine machine = detected(sysfs);
  const PciDevice& device = machine.numa.front().devices[1];
  CHECK(device.link_width == 4);
  const std::pair<std::string, std::string> speed("max_link_speed", "16.0 GT/s PCIe");
  const std::pair<std::string, std::string> width("max_link_width", "16");
  CHECK(std::ranges::count(device.extra, speed) == 1);
  CHECK(std::ranges::count(device.extra, width) == 1);
  const auto saved = machine_from_nccl_xml(nccl_xml(machine), "saved.xml");
  REQUIRE(saved.status().message() == "");
  CHECK(have_same_content(machine, saved.value()));
  check_repair(machine, "0000:12:00.0/current_link_width: the link uses 4 of its 16 lanes");
}

TEST_CASE("the slower end of a link counts") {
  FakeSysfs sysfs(small_host());
  sysfs.file(sysfs.function("0000:12:00.0") + "/../max_link_speed", "8.0 GT/s PCIe");
  const Machine machine = detected(sysfs);
  CHECK(machine.numa.front().devices[1].link_speed == "8.0 GT/s PCIe");
  CHECK(machine.repairs.empty());
}

TEST_CASE("a port that states less than its link has is emulated, and does not count") {
  for (const auto& [file, line, words] : {std::array{"max_link_speed", "8.0 GT/s PCIe", "8.0 GT/s PCIe x16"},
                                          std::array{"max_link_width", "1", "16.0 GT/s PCIe x1"}}) {
    FakeSysfs sysfs(small_host());
    sysfs.file(sysfs.function("0000:12:00.0") + "/current_link_speed", "16.0 GT/s PCIe");
    sysfs.file(sysfs.function("0000:12:00.0") + "/../" + file, line);
    const Machine machine = detected(sysfs);
    CHECK(machine.numa.front().devices[1].link_speed == "16.0 GT/s PCIe");
    CHECK(machine.numa.front().devices[1].link_width == 16);
    check_repair(machine, std::string(": its maximum is ") + words +
                              ", but the link to 0000:12:00.0 has 16.0 GT/s PCIe x16: assumed emulated");
  }
}

TEST_CASE("of a port that is emulated, what it does not state is not printed") {
  FakeSysfs sysfs(small_host());
  const std::string port = sysfs.function("0000:12:00.0") + "/..";
  sysfs.file(port + "/max_link_speed", "Unknown");
  sysfs.file(port + "/max_link_width", "1");
  sysfs.file(sysfs.function("0000:12:00.0") + "/current_link_speed", "Unknown");
  check_repair(detected(sysfs),
               ": its maximum is x1, but the link to 0000:12:00.0 has x16: assumed emulated");
}

TEST_CASE("links that are not known have no speed and no lanes") {
  FakeSysfs sysfs(small_host());
  const std::string function = sysfs.function("0000:12:00.0");
  for (const std::string which : {"/max", "/current", "/../max"}) {
    sysfs.file(function + which + "_link_speed", "Unknown");
    sysfs.file(function + which + "_link_width", "255");
  }
  const PciDevice device = detected(sysfs).numa.front().devices[1];
  CHECK(device.link_speed.empty());
  CHECK(device.link_width == 0);
}

TEST_CASE("a device of no NUMA node is at the only one, or at the first, which is named") {
  Machine two = small_host();
  FakeSysfs sysfs(two);
  sysfs.file(sysfs.function("0000:12:00.0") + "/numa_node", "-1");
  const Machine alone = detected(sysfs);
  CHECK(alone.numa.front().devices.size() == 2);
  CHECK(alone.repairs.empty());
  sysfs.file("devices/system/node/node1/cpumap", "ffffffff,00000000");
  sysfs.file("devices/system/node/node2/cpumap", "00000000,00000000");  // memory alone
  sysfs.file("devices/system/node/node03/cpumap", "f");                 // no name of the kernel's
  const Machine guessed = detected(sysfs);
  REQUIRE(guessed.numa.size() == 2);
  CHECK(guessed.numa.front().devices.size() == 2);
  check_repair(guessed,
               "0000:12:00.0/numa_node: -1, which is no NUMA node with CPUs: 0000:12:00.0 is taken to be");
}

TEST_CASE("without NVML there are no GPUs of NVIDIA, which are counted") {
  PciDevice gpu{.bus_id = "0000:13:00.0", .pci_class = "0x030200"};
  gpu.gpu = GpuInfo{.dev = 0, .sm = 90};
  const Machine machine = detected(FakeSysfs(host({gpu})));
  CHECK(machine.numa.front().devices.empty());
  REQUIRE(machine.repairs.size() == 1);
  check_repair(machine, "libno-such-library.so.1: cannot open shared object file");
  check_repair(machine, ": 1 GPU of NVIDIA is left out");
}

TEST_CASE("masks of CPUs that files cannot hold lose the CPUs that could be added, or are left out") {
  FakeSysfs sysfs(small_host());
  std::string possible;
  for (int i = 0; i != 40; ++i) possible += "00000000,";
  sysfs.file("devices/system/node/node0/cpumap", possible + "0000000f");
  const Machine shorter = detected(sysfs);
  CHECK(shorter.numa.front().affinity.size() <= 254);
  CHECK(shorter.numa.front().affinity.ends_with("00000000,0000000f"));
  CHECK(shorter.repairs.empty());
  std::ranges::replace(possible, '0', 'f');
  sysfs.file("devices/system/node/node0/cpumap", possible + "0000000f");
  const Machine without = detected(sysfs);
  REQUIRE(without.numa.size() == 1);
  CHECK(without.numa.front().affinity.empty());
  check_repair(without, "/node0/cpumap: the CPU mask exceeds 254 characters: left out");
}

TEST_CASE("a folder that is no /sys is an error, and an empty one a host that shows nothing") {
  const auto missing = detect_machine({.sysfs = "/nowhere/at/all"});
  CHECK(missing.status().code() == Code::SystemError);
  CHECK(missing.status().message() == "/nowhere/at/all: No such file or directory");
  const FakeSysfs empty;
  const Machine machine = detected(empty);
  REQUIRE(machine.numa.size() == 1);
  CHECK(machine.numa.front().id == -1);
  check_repair(machine, "/devices/system/node: no NUMA node with CPUs: the host is taken to have one");
  check_repair(machine, "/devices/system/cpu/modalias: missing or empty");
  check_repair(machine, "/bus/pci/devices: no PCI devices");
}

TEST_CASE("whatever files contain is an absent value, which names the file") {
  FakeSysfs sysfs(small_host());
  const std::string function = sysfs.function("0000:12:00.0");
  sysfs.file(function + "/numa_node", "99999999999999999999");
  sysfs.file(function + "/current_link_width", "-4");
  sysfs.file("class/net/eth0/speed", "4294967295");
  sysfs.file("class/infiniband/mlx5_0/ports/1/rate", "1e99 Gb/sec");
  sysfs.file("devices/system/cpu/modalias", std::string(100'000, '\x01'));
  std::filesystem::remove(sysfs / function + "/max_link_speed");
  std::filesystem::create_directory(sysfs / function + "/max_link_speed");
  std::filesystem::remove(sysfs / function + "/vendor");
  REQUIRE(::mkfifo((sysfs / function + "/vendor").c_str(), 0600) == 0);
  const Machine machine = detected(sysfs);
  CHECK(machine.numa.front().devices.size() == 2);
  check_repair(machine, "0000:12:00.0/numa_node: '99999999999999999999' is not a number from -1 to 65535");
  check_repair(machine, "0000:12:00.0/current_link_width: '-4' is not a number");
  check_repair(machine, "0000:12:00.0/max_link_speed: Is a directory: taken as absent");
  check_repair(machine, "class/net/eth0/speed: '4294967295' is not a number");
  check_repair(machine, "mlx5_0/ports/1/rate: '1e99 Gb/sec' is not a rate");
  check_repair(machine, "modalias: '????");
}

TEST_CASE("links that lead round or elsewhere are left out, and named") {
  FakeSysfs sysfs(small_host());
  std::filesystem::create_symlink("round", sysfs / "class/net/round");
  std::filesystem::create_symlink("/etc", sysfs / "class/net/away");
  std::filesystem::create_symlink("nowhere", sysfs / "class/infiniband/gone");
  sysfs.file("class/net/bonding_masters", "");
  const Machine machine = detected(sysfs);
  CHECK(machine.numa.front().devices.size() == 2);
  CHECK(machine.repairs.size() == 3);
  check_repair(machine, "class/net/round: Too many levels of symbolic links: left out");
  check_repair(machine, "class/net/away: leads to /etc, which is no device: left out");
  check_repair(machine, "class/infiniband/gone: No such file or directory: left out");
}
