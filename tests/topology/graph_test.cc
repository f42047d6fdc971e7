// SPDX-License-Identifier: Apache-2.0
// TopologyGraph::build(): what joins what, how fast, and what is said about descriptions that contradict
// themselves.
#include <algorithm>

#include "catch.h"
#include "graph/known_machines.h"
#include "graph/link_speeds.h"
#include "graph/topology_graph.h"

namespace {

using namespace rondo;

constexpr int64_t kGBps = 1'000'000;

PciDevice gpu(int dev, const std::string& bus_id, std::vector<FabricLinks> links = {}) {
  PciDevice device{
      .bus_id = bus_id, .pci_class = "0x030200", .link_speed = "16.0 GT/s PCIe", .link_width = 16};
  device.gpu = GpuInfo{.dev = dev, .sm = 80, .links = std::move(links), .line = 100 + dev};
  device.line = 100 + dev;
  return device;
}

PciDevice nic(const std::string& name, const std::string& bus_id, int64_t speed_Mbps) {
  PciDevice device{
      .bus_id = bus_id, .pci_class = "0x020700", .link_speed = "16.0 GT/s PCIe", .link_width = 8};
  device.ports = {NetPort{.name = name, .dev = 0, .speed_Mbps = speed_Mbps}};
  return device;
}

PciDevice pci_switch(const std::string& bus_id, std::vector<PciDevice> below) {
  PciDevice device{
      .bus_id = bus_id, .pci_class = "0x060400", .link_speed = "16.0 GT/s PCIe", .link_width = 16};
  device.below = std::move(below);
  return device;
}

FabricLinks links_to(FabricTarget target, const std::string& bus_id, int count, int line = 0) {
  return {.target = target, .target_bus_id = bus_id, .count = count, .line = line};
}

Machine machine(std::vector<std::vector<PciDevice>> devices) {
  Machine result{.source = "box.xml"};
  for (auto& of_one : devices) {
    NumaNode numa{.id = static_cast<int>(result.numa.size()),
                  .arch = "x86_64",
                  .vendor = "GenuineIntel",
                  .family = 6,
                  .model = 106};
    numa.devices = std::move(of_one);
    result.numa.push_back(std::move(numa));
  }
  return result;
}

TopologyGraph built(const Machine& machine, const GraphOptions& options = {}) {
  auto graph = TopologyGraph::build(machine, options);
  INFO(graph.status().message());
  REQUIRE(graph.ok());
  return graph.take();
}

int node_named(const TopologyGraph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.nodes(), name, &TopologyNode::name);
  INFO(name);
  REQUIRE(found != graph.nodes().end());
  return static_cast<int>(found - graph.nodes().begin());
}

/// What all links between two nodes carry, one way.
int64_t width(const TopologyGraph& graph, const std::string& from, const std::string& to) {
  int64_t sum = 0;
  for (const int link : graph.links_from(node_named(graph, from)))
    if (graph.link(link).to == node_named(graph, to)) sum += graph.link(link).kBps;
  return sum;
}

}  // namespace

TEST_CASE("a box of two sockets has a link for each of its PCIe, socket and NIC links, both ways") {
  const TopologyGraph graph = built(
      machine({{pci_switch("0000:10:00.0", {gpu(0, "0000:11:00.0"), nic("mlx5_0", "0000:12:00.0", 100'000)})},
               {gpu(1, "0000:21:00.0")}}));
  for (const auto& [a, b, kBps] : std::vector<std::tuple<std::string, std::string, int64_t>>{
           {"gpu0", "switch 0000:10:00.0", 24 * kGBps},
           {"switch 0000:10:00.0", "numa0", 24 * kGBps},
           {"nic mlx5_0", "switch 0000:10:00.0", 12 * kGBps},
           {"gpu1", "numa1", 24 * kGBps},
           {"numa0", "numa1", 10 * kGBps},
           {"nic mlx5_0", "network", 12'500'000}}) {
    INFO(a << " and " << b);
    CHECK(width(graph, a, b) == kBps);
    CHECK(width(graph, b, a) == kBps);
  }
  CHECK(graph.links().size() == 12);
  CHECK(graph.repairs().empty());
}

TEST_CASE("without P2P below switches nothing turns around in one, and Intel's CPUs pass on five sixths") {
  const Machine box =
      machine({{pci_switch("0000:10:00.0", {gpu(0, "0000:11:00.0"), gpu(1, "0000:12:00.0")})}});
  const TopologyGraph graph = built(box, {.p2p_below_switches = false});
  const std::string up = "switch 0000:10:00.0 up", down = "switch 0000:10:00.0 down";
  CHECK(width(graph, "gpu0", up) == 24 * kGBps);
  CHECK(width(graph, up, "numa0") == 20 * kGBps);
  CHECK(width(graph, "numa0", down) == 20 * kGBps);
  CHECK(width(graph, down, "gpu1") == 24 * kGBps);
  CHECK(width(graph, up, "gpu1") == 0);
  CHECK(width(graph, up, down) == 0);
}

TEST_CASE("NVSwitches that divide all GPUs' links alike are one node, and others keep their own") {
  const std::vector<std::pair<std::string, int>> planes = {
      {"0000:c4:00.0", 4}, {"0000:c5:00.0", 5}, {"0000:c6:00.0", 5}};
  const auto of_gpu = [&](int lost) {
    std::vector<FabricLinks> links;
    for (const auto& [bus_id, count] : planes)
      links.push_back(
          links_to(FabricTarget::NvSwitch, bus_id, count - (bus_id == planes.back().first ? lost : 0)));
    return links;
  };
  const TopologyGraph whole =
      built(machine({{gpu(0, "0000:11:00.0", of_gpu(0)), gpu(1, "0000:12:00.0", of_gpu(0))}}));
  CHECK(width(whole, "gpu0", "nvswitch") == 14 * 20 * kGBps);
  CHECK(width(whole, "nvswitch", "gpu1") == 14 * 20 * kGBps);
  const TopologyGraph faulty =
      built(machine({{gpu(0, "0000:11:00.0", of_gpu(1)), gpu(1, "0000:12:00.0", of_gpu(0))}}));
  CHECK(width(faulty, "gpu0", "nvswitch 0000:c4:00.0") == 9 * 20 * kGBps);
  CHECK(width(faulty, "gpu0", "nvswitch 0000:c6:00.0") == 4 * 20 * kGBps);
  CHECK(width(faulty, "nvswitch 0000:c6:00.0", "gpu1") == 5 * 20 * kGBps);
}

TEST_CASE("links that lead nowhere or one way only are said with file and line") {
  const TopologyGraph graph = built(machine({{gpu(0, "0000:11:00.0",
                                                  {links_to(FabricTarget::Gpu, "0000:12:00.0", 4, 7),
                                                   links_to(FabricTarget::Gpu, "0000:99:00.0", 1, 8)}),
                                              gpu(1, "0000:12:00.0",
                                                  {links_to(FabricTarget::Gpu, "0000:11:00.0", 2, 9),
                                                   links_to(FabricTarget::Gpu, "0000:12:00.0", 12, 10)})}}));
  CHECK(width(graph, "gpu0", "gpu1") == 80 * kGBps);
  CHECK(width(graph, "gpu1", "gpu0") == 40 * kGBps);
  const std::vector<std::string> said(graph.repairs().begin(), graph.repairs().end());
  CHECK(said ==
        std::vector<std::string>{
            "box.xml:8: gpu0 has links to 0000:99:00.0, which is not a GPU of this description: left out",
            "box.xml:10: gpu1 has links to itself: left out",
            "box.xml:7: gpu0 has 4 links to gpu1, which has 2 back: taken as described"});
}

TEST_CASE("a description that gives two things the same name is refused with both lines") {
  const auto refused = [](const Machine& box) {
    const auto graph = TopologyGraph::build(box);
    REQUIRE_FALSE(graph.ok());
    return graph.status().message();
  };
  CHECK(refused(machine({{gpu(0, "0000:11:00.0"), gpu(1, "0000:11:00.0")}})) ==
        "box.xml:101: the bus id 0000:11:00.0 is also that of line 100");
  CHECK(refused(machine({{gpu(0, "0000:11:00.0"), gpu(0, "0000:12:00.0")}})) ==
        "box.xml:100: GPU 0 is described twice; the other is at line 100");
  Machine twice = machine({{gpu(0, "0000:11:00.0")}, {gpu(1, "0000:12:00.0")}});
  twice.numa[1].id = 0;
  twice.numa[1].line = 5;
  CHECK(refused(twice) == "box.xml:5: NUMA node 0 is described twice");
}

TEST_CASE("hosts are joined by their ports, those of a plane by a network of their own") {
  std::vector<Machine> hosts = {machine({{gpu(0, "0000:11:00.0"), nic("mlx5_0", "0000:12:00.0", 200'000)}})};
  hosts.push_back(hosts[0]);
  hosts[1].numa[0].devices[1].ports[0].plane = 1;
  auto apart = TopologyGraph::build(hosts);
  REQUIRE(apart.ok());
  CHECK(width(apart.value(), "host0/nic mlx5_0", "network") == 25 * kGBps);
  CHECK(width(apart.value(), "host1/nic mlx5_0", "network1") == 25 * kGBps);
  CHECK(apart.value().hosts() == 2);
}

TEST_CASE("speeds of links are those that the kernel prints, or a named guess") {
  CHECK(pcie_kBps("2.5 GT/s PCIe", 1) == 187'500);
  CHECK(pcie_kBps("8 GT/s", 16) == 12 * kGBps);
  CHECK(pcie_kBps("64.0 GT/s PCIe", 16) == 96 * kGBps);
  CHECK(pcie_kBps("", 0) == 12 * kGBps);
  for (const char* wrong : {"fast", "3 GT/s", "16", "16 GT", "-16.0 GT/s PCIe", "nan GT/s"})
    CHECK_FALSE(pcie_kBps(wrong, 16).has_value());
  Machine box = machine({{gpu(0, "0000:11:00.0")}});
  box.numa[0].devices[0].link_speed = "3 GT/s";
  const TopologyGraph graph = built(box);
  CHECK(width(graph, "gpu0", "numa0") == 12 * kGBps);
  CHECK(std::string(graph.repairs()[0]) ==
        "box.xml:100: '3 GT/s' is not a speed of PCIe, such as '16.0 GT/s PCIe'; 0000:11:00.0 is taken to "
        "have 12 GB/s");
}

TEST_CASE("PCI addresses have one form") {
  CHECK(normalized_bus_id("00000000:3B:00.0").value() == "0000:3b:00.0");
  CHECK(normalized_bus_id("3b:0.0").value() == "0000:3b:00.0");
  CHECK(normalized_bus_id("fffffff:ff:ff.0").value() == "fffffff:ff:ff.0");
  for (const char* wrong :
       {"", "0000", "0000:3b:00", "0000:3b:00.00", "g000:3b:00.0", "0000:3b3:00.0", ":3b:00.0", "::."})
    CHECK_FALSE(normalized_bus_id(wrong).ok());
}

TEST_CASE("every known machine has a graph without repairs, in which all GPUs have the same links") {
  for (const KnownMachine& known : known_machines()) {
    INFO(known.name);
    const TopologyGraph graph = built(known_machine(known.name).value());
    CHECK(graph.repairs().empty());
    REQUIRE(graph.gpus().size() >= 8);
    std::vector<int64_t> leaving;
    for (const int gpu : graph.gpus()) {
      int64_t sum = 0;
      for (const int link : graph.links_from(gpu))
        sum += is_fabric(graph.link(link).cls) ? graph.link(link).kBps : 0;
      leaving.push_back(sum);
    }
    // Of the two dies of an MI250 one has seven links, the other six.
    if (known.name != "mi250") CHECK(std::ranges::count(leaving, leaving.front()) == std::ssize(leaving));
  }
  const auto unknown = known_machine("hgx-h10");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.status().message() ==
        "no machine is called 'hgx-h10'; known are: dgx-1v, dgx-2, hgx-a100, hgx-h100, hgx-h200, hgx-b200, "
        "mi250, "
        "mi300x, pcie-8gpu; did you mean hgx-h100?");
}

TEST_CASE("a description of more GPUs than any machine has is refused") {
  std::vector<PciDevice> gpus;
  for (int dev = 0; dev != 1025; ++dev) gpus.push_back(gpu(dev, fmt::format("{:04x}:00:00.0", dev)));
  const auto graph = TopologyGraph::build(machine({gpus}));
  REQUIRE_FALSE(graph.ok());
  CHECK(graph.status().message() == "box.xml: with this host there are more than 1024 GPUs");
  gpus.resize(513);
  const auto host = TopologyGraph::build(machine({gpus}));
  REQUIRE_FALSE(host.ok());
  CHECK(host.status().message() == "box.xml: more than 512 GPUs on a host");
  gpus.resize(100);
  for (PciDevice& each : gpus)
    for (int above = 0; above != 80; ++above)
      each = pci_switch(fmt::format("{}{:02x}:00.0", each.bus_id.substr(0, 5), above + 1), {each});
  const auto deep = TopologyGraph::build(machine({gpus}));
  REQUIRE_FALSE(deep.ok());
  CHECK(deep.status().message() ==
        "box.xml: 100 GPUs among 8101 devices: expected at most 800000 paths from a GPU");
}

TEST_CASE("hosts that together have too many links, or paths from GPUs, are refused") {
  std::vector<PciDevice> devices;
  for (int i = 0; i != 1500; ++i)
    devices.push_back(i < 16 ? gpu(i, fmt::format("{:04x}:00:00.0", i))
                             : nic(fmt::format("nic{}", i), fmt::format("{:04x}:00:00.0", i), 100'000));
  const Machine host = machine({devices});
  const auto refusal = [&](size_t hosts) {
    return TopologyGraph::build(std::span(&host, 1), std::vector<size_t>(hosts), {}).status().message();
  };
  CHECK(refusal(8) == "");
  CHECK(refusal(64) == "box.xml: 9 hosts have 53712 links: expected at most 50000");
  devices.erase(devices.begin() + 600, devices.end());
  for (int i = 16; i != 80; ++i) devices[static_cast<size_t>(i)] = gpu(i, fmt::format("{:04x}:00:00.0", i));
  const Machine many = machine({devices});
  CHECK(TopologyGraph::build(std::span(&many, 1), std::vector<size_t>(12), {}).status().message() ==
        "box.xml: 11 hosts have 880 GPUs among 6612 devices: expected at most 5000000 paths from a GPU");
}
