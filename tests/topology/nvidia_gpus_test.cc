// SPDX-License-Identifier: Apache-2.0
// detect_machine() on NVIDIA's GPUs, through a stand-in for NVML and folders that look like /sys.
#include <fmt/ranges.h>

#include <fstream>
#include <map>

#include "catch.h"
#include "detected.h"
#include "formats/nccl_xml.h"
#include "graph/known_machines.h"
#include "graph_lines.h"
#include "nccl_host.h"
#include "scoped_environment.h"

namespace {

using namespace rondo;
using namespace rondo::test;

/// As sysfs shows the first machine, and NVML the GPUs of the second. `fault` is one of the stand-in's.
Machine detected_by_nvml(const Machine& shown, const Machine& listed, const std::string& fault = {},
                         const std::optional<std::string>& visible_devices = std::nullopt) {
  const Folder folder;
  std::ofstream(folder / "listed.xml") << nccl_xml(listed);
  const Environment environment(
      {{"RONDO_STANDIN_TOPOLOGY", folder / "listed.xml"}, {"RONDO_STANDIN_NVML_FAULT", fault}});
  return detected(FakeSysfs(shown), STANDIN_NVML, visible_devices);
}

Machine detected_by_nvml(const Machine& machine, const std::string& fault = {},
                         const std::optional<std::string>& visible_devices = std::nullopt) {
  return detected_by_nvml(machine, machine, fault, visible_devices);
}

std::map<int, PciDevice> gpus_of(Machine machine) {
  std::map<int, PciDevice> gpus;
  visit_devices(machine, [&](const PciDevice& device) {
    if (device.gpu) gpus[device.gpu->dev] = device;
  });
  return gpus;
}

/// CUDA_VISIBLE_DEVICES by which GPUs have the numbers that a description gives them.
std::string visible_devices_of(const Machine& machine) {
  const std::map<int, PciDevice> gpus = gpus_of(machine);
  std::vector<std::string> bus_ids;
  for (const auto& [dev, device] : gpus) bus_ids.push_back(device.bus_id);
  std::ranges::sort(bus_ids);
  std::vector<ptrdiff_t> numbers;
  for (const auto& [dev, device] : gpus)
    numbers.push_back(std::ranges::find(bus_ids, device.bus_id) - bus_ids.begin());
  return fmt::format("{}", fmt::join(numbers, ","));
}

/// A communicator may leave GPUs out, whose numbers are then missing.
void renumber_gpus(Machine& machine) {
  std::map<int, GpuInfo*> gpus;
  visit_devices(machine, [&](PciDevice& device) {
    if (device.gpu) gpus[device.gpu->dev] = &*device.gpu;
  });
  int next = 0;
  for (const auto& [dev, gpu] : gpus) gpu->dev = next++;
}

void check_same_graph(Machine machine) {
  const Machine found = detected_by_nvml(machine, "", visible_devices_of(machine));
  renumber_gpus(machine);
  move_virtual_interfaces(machine);
  CHECK(graph_lines(graph_of(found)) == graph_lines(graph_of(machine)));
}

PciDevice gpu(int dev, const std::string& bus_id, std::vector<FabricLinks> links = {}) {
  PciDevice device{
      .bus_id = bus_id, .pci_class = "0x030200", .link_speed = "16.0 GT/s PCIe", .link_width = 16};
  device.gpu = GpuInfo{.dev = dev, .sm = 80, .links = std::move(links)};
  return device;
}

FabricLinks links_to(const std::string& bus_id, int count) {
  return {.target_bus_id = bus_id, .target_class = "0x030200", .count = count};
}

Machine pair() {
  return host({gpu(0, "0000:01:00.0", {links_to("0000:02:00.0", 12)}),
               gpu(1, "0000:02:00.0", {links_to("0000:01:00.0", 12)})});
}

Machine pair_below_switch(bool has_p2p) {
  Machine machine = host({pci_switch("0000:10:00.0", {gpu(0, "0000:11:00.0"), gpu(1, "0000:12:00.0")})});
  machine.p2p_below_switches = has_p2p;
  return machine;
}

}  // namespace

// Files also say what a communicator has found: ranks, gdr, coll, maxconn, which are not part of a graph.
TEST_CASE("recorded machines of NVIDIA are detected with the graphs of their files") {
  for (const std::string& path : recorded_topologies()) {
    auto machine = machine_from_nccl_xml_file(path);
    REQUIRE(machine.status().message() == "");
    if (machine.value().version != 1 || gpus_of(machine.value()).empty()) continue;
    INFO(path);
    check_same_graph(machine.take());
  }
}

TEST_CASE("well-known machines of NVIDIA are detected with their graphs") {
  for (const KnownMachine& known : known_machines()) {
    auto machine = known_machine(known.name);
    REQUIRE(machine.status().message() == "");
    if (!gpus_of(machine.value()).at(0).gpu->gfx.empty()) continue;
    INFO(known.name);
    check_same_graph(machine.take());
  }
}

TEST_CASE("links that are up are counted, whatever a driver says of their ends") {
  for (const std::string fault : {"", "old"}) {
    const auto gpus = gpus_of(detected_by_nvml(pair(), fault));
    REQUIRE(gpus.size() == 2);
    REQUIRE(gpus.at(0).gpu->links.size() == 1);
    const FabricLinks& links = gpus.at(0).gpu->links.front();
    CHECK(links.target == FabricTarget::Gpu);
    CHECK(links.target_bus_id == "0000:02:00.0");
    CHECK(links.target_class == "0x030200");
    CHECK(links.count == 12);
  }
}

TEST_CASE("GPUs are those that NVML lists and CUDA shows, with its numbers") {
  Machine three = host({gpu(0, "0000:01:00.0"), gpu(1, "0000:02:00.0", {links_to("0000:03:00.0", 2)}),
                        gpu(2, "0000:03:00.0", {links_to("0000:02:00.0", 2)})});
  auto gpus = gpus_of(detected_by_nvml(three, "", "2,0"));
  REQUIRE(gpus.size() == 2);
  CHECK(gpus.at(0).bus_id == "0000:03:00.0");
  CHECK(gpus.at(0).gpu->links.empty());  // to a GPU that is not shown
  CHECK(gpus.at(1).bus_id == "0000:01:00.0");
  gpus = gpus_of(detected_by_nvml(three, host({gpu(0, "0000:02:00.0")})));
  REQUIRE(gpus.size() == 1);
  CHECK(gpus.at(0).bus_id == "0000:02:00.0");
  CHECK(gpus_of(detected_by_nvml(three, "", "")).empty());
}

TEST_CASE("P2P below switches is what NVML says of GPUs that share one") {
  CHECK(detected_by_nvml(pair_below_switch(true)).p2p_below_switches == true);
  CHECK(detected_by_nvml(pair_below_switch(false)).p2p_below_switches == false);
  CHECK(!detected_by_nvml(pair()).p2p_below_switches);
  Machine linked = host({pci_switch("0000:10:00.0", pair().numa.front().devices)});
  linked.p2p_below_switches = false;
  CHECK(!detected_by_nvml(linked).p2p_below_switches);  // NVLinks hide it
}

TEST_CASE("NVLinks that P2P may not use are left out, and named") {
  const Machine refused = detected_by_nvml(pair(), "p2p");
  CHECK(gpus_of(refused).at(0).gpu->links.empty());
  check_repair(refused, "0000:01:00.0 has 12 NVLinks to 0000:02:00.0, which P2P may not use: left out");
  auto hgx = known_machine("hgx-h100");
  REQUIRE(hgx.ok());
  const Machine unconfigured = detected_by_nvml(hgx.value(), "p2p");
  CHECK(gpus_of(unconfigured).at(7).gpu->links.empty());
}

TEST_CASE("a GPU that MIG divides is one without NVLinks") {
  const Machine machine = detected_by_nvml(pair(), "mig", "MIG-20000000-0000-0000-0000-000000000000,1");
  const auto gpus = gpus_of(machine);
  REQUIRE(gpus.size() == 2);
  CHECK(gpus.at(0).bus_id == "0000:01:00.0");
  CHECK(gpus.at(0).gpu->links.empty());
  CHECK(gpus.at(1).gpu->links.empty());
  check_repair(machine, "MIG divides 0000:01:00.0: taken as one GPU without its NVLinks");
}

TEST_CASE("a GPU that is lost is left out, and named") {
  const Machine machine = detected_by_nvml(pair(), "lost");
  CHECK(gpus_of(machine).size() == 1);
  check_repair(machine, "GPU 0 of 2: ");
  check_repair(machine, "GPU is lost: left out");
}

TEST_CASE("without a driver the GPUs that sysfs shows are left out, and counted") {
  const Machine machine = detected_by_nvml(pair(), "driver");
  CHECK(gpus_of(machine).empty());
  check_repair(machine, "nvmlInit_v2: Driver Not Loaded: 2 GPUs of NVIDIA are left out");
}

TEST_CASE("GPUs whose PCI device is hidden have a link to their NUMA node") {
  const Machine machine = detected_by_nvml(host({}), pair());
  CHECK(gpus_of(machine).size() == 2);
  check_repair(machine, "/bus/pci/devices/0000:01:00.0: absent, though its driver shows this GPU");
  CHECK(graph_of(machine).gpus().size() == 2);
}

TEST_CASE("a hidden PCI tree is said to be hidden") {
  Machine machine = pair();
  for (PciDevice& device : machine.numa.front().devices) {
    device.link_speed.clear();
    device.link_width = 0;
  }
  check_repair(detected_by_nvml(machine),
               "/bus/pci/devices: no bridges above 2 GPUs, as virtual machines hide");
}

TEST_CASE("a link of one lane to a GPU is that of a virtual machine, and not known") {
  Machine machine = pair();
  machine.numa.front().devices.front().link_width = 1;
  const Machine found = detected_by_nvml(machine);
  CHECK(gpus_of(found).at(0).link_width == 0);
  CHECK(gpus_of(found).at(0).link_speed.empty());
  CHECK(gpus_of(found).at(1).link_width == 16);
  check_repair(
      found, "0000:01:00.0/max_link_width: 1 lane, as virtual machines show: the link is taken as not known");
}

TEST_CASE("a note says that GPUs of different generations are numbered by bus id") {
  Machine machine = pair();
  machine.numa.front().devices.front().gpu->sm = 70;
  const std::string warning = "CUDA numbers them otherwise unless CUDA_DEVICE_ORDER=PCI_BUS_ID";
  for (const std::optional<std::string>& visible :
       {std::optional<std::string>(), std::optional<std::string>("0"), std::optional<std::string>("1")})
    check_repair(detected_by_nvml(machine, "", visible), warning);
  for (const std::string visible : {"", "GPU-00000002"})
    for (const std::string& repair : detected_by_nvml(machine, "", visible).repairs)
      CHECK_THAT(repair, !Catch::Contains(warning));
}
