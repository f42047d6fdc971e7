// SPDX-License-Identifier: Apache-2.0
// What is wrong with machines that were broken in one way, and what it costs.
#include <algorithm>

#include "catch.h"
#include "limit_machines.h"
#include "review/faults.h"
#include "review_machines.h"

using namespace rondo;
using namespace rondo::test;

namespace {

Texts said(const Machine& machine, int hosts = 1) { return test::said(machine, faults(machine), hosts); }

/// The PCI device of a GPU of the first NUMA node.
PciDevice& device_of(Machine& machine, int dev) {
  for (PciDevice& pci_switch : machine.numa[0].devices)
    for (PciDevice& device : pci_switch.below)
      if (device.gpu && device.gpu->dev == dev) return device;
  FAIL("no such GPU");
  return machine.numa[0].devices[0];
}

/// Takes that many links of a GPU away.
void take_links(Machine& machine, int dev, int count) {
  for (FabricLinks& links : find_gpu(machine, dev)->links) {
    const int taken = std::min(count, links.count);
    links.count -= taken;
    count -= taken;
  }
  std::erase_if(find_gpu(machine, dev)->links, [](const FabricLinks& links) { return links.count == 0; });
}

/// Gives all NICs a model, as descriptions of real hosts have it.
void name_models(Machine& machine) {
  for (NumaNode& numa : machine.numa)
    for (PciDevice& pci_switch : numa.devices)
      for (PciDevice& device : pci_switch.below)
        if (!device.ports.empty()) device.extra = {{"vendor", "0x15b3"}, {"device", "0x1021"}};
}

}  // namespace

TEST_CASE("well-known machines have no faults") {
  for (const KnownMachine& known_one : known_machines()) {
    CAPTURE(known_one.name);
    CHECK(said(known(known_one.name)).empty());
  }
}

TEST_CASE("missing links are told by what most GPUs have") {
  Machine dgx = known("dgx-1v");
  break_link(dgx, 0, 3);
  CHECK(said(dgx) == Texts{"gpu0 and gpu3: 5 NVLinks; most GPUs have 6: 120.0"});
  Machine hgx = known("hgx-h200");
  --find_gpu(hgx, 3)->links[0].count;
  CHECK(said(hgx) == Texts{"gpu3: 17 NVLinks; most GPUs have 18: 370.8"});
  find_gpu(hgx, 5)->links.clear();
  CHECK(said(hgx).size() == 2);
  Machine uneven = known("hgx-h200");
  take_links(uneven, 6, 1);
  take_links(uneven, 7, 9);
  CHECK(limit(uneven) == "185.4");
  CHECK(said(uneven) ==
        Texts{"gpu7: 9 NVLinks; most GPUs have 18: 350.2", "gpu6: 17 NVLinks; most GPUs have 18: 185.4"});
  Machine amd = known("mi300x");
  break_link(amd, 6, 7);
  CHECK(limit(amd) == "288.0");
  CHECK(said(amd) == Texts{"gpu6 and gpu7: 6 xGMI links; most GPUs have 7: 336.0"});
  break_link(amd, 5, 7);
  CHECK(said(amd) == Texts{"gpu7: 5 xGMI links; gpu5 and gpu6: 6 xGMI links; most GPUs have 7: 336.0"});
}

TEST_CASE("links that go one way, or to the GPU itself, are told with the limit that they would give") {
  Machine dgx = known("dgx-1v");
  for (FabricLinks& links : find_gpu(dgx, 2)->links)
    if (links.target_bus_id == bus_id_of(dgx, 3)) --links.count;
  CHECK(said(dgx) == Texts{"gpu3 has 2 NVLinks to gpu2, which has 1 back: 120.0"});
  Machine pairs = known("pcie-8gpu");
  for (int dev = 0; dev != 8; ++dev)
    find_gpu(pairs, dev)->links = {{.target_bus_id = bus_id_of(pairs, dev), .count = 4}};
  const Texts found = said(pairs);
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Catch::StartsWith("gpu0, gpu1, gpu2, gpu3, gpu4 and 3 others: 32 NVLinks from GPUs to "
                                         "themselves, which carry nothing; taken to be bridges of gpu0-gpu1, "
                                         "gpu2-gpu3, gpu4-gpu5, gpu6-gpu7: "));
}

TEST_CASE("PCIe links are compared with those of equal devices, and with the maximum that is stated") {
  Machine box = known("pcie-8gpu");
  device_of(box, 1).link_width = 4;
  CHECK(limit(box) == "6.0");
  CHECK(said(box) == Texts{"gpu1: PCIe x4 at 16.0 GT/s; gpu0 has x16 at 16.0 GT/s: 17.5"});
  device_of(box, 1).extra = {{"max_link_speed", "16.0 GT/s PCIe"}, {"max_link_width", "8"}};
  CHECK(said(box).size() == 1);  // a device is told once
  Machine alone = known("pcie-8gpu");
  name_models(alone);
  PciDevice& card = nic_below(alone, 0);
  card.extra = {{"device", "0x1"}, {"max_link_speed", card.link_speed}, {"max_link_width", "16"}};
  card.link_width = 8;
  REQUIRE(said(alone).size() == 1);
  CHECK_THAT(said(alone)[0], Catch::Contains(": PCIe x8 at 16.0 GT/s; its maximum is x16 at 16.0 GT/s: "));
  Machine unknown = known("pcie-8gpu");
  device_of(unknown, 1).link_speed.clear();
  CHECK(said(unknown).empty());
}

TEST_CASE("a NIC whose PCIe link carries less than its ports is a fault between hosts") {
  Machine dgx = known("dgx-1v");
  nic_below(dgx, 0).ports[0].speed_Mbps = 400'000;
  const Texts found = said(dgx, 2);
  REQUIRE(found.size() == 2);  // the others are slow beside it, so half of the GPUs have none near them
  CHECK(found[0] == "nic mlx5_0: PCIe x16 at 8.0 GT/s, 12.0 GB/s, below ports of 50.0 GB/s: 132.0");
}

TEST_CASE("NICs of a model are compared by their ports") {
  Machine dgx = known("dgx-1v");
  name_models(dgx);
  CHECK(said(dgx).empty());
  nic_below(dgx, 1).ports[0].speed_Mbps = 25'000;
  CHECK(limit(dgx, 2) == "73.4");
  CHECK(said(dgx, 2) == Texts{"nic mlx5_1: port of 25 Gbit/s; most NICs of its model have 100: 90.0"});
  nic_below(dgx, 1).ports[0].speed_Mbps = 100'000;
  for (NumaNode& numa : dgx.numa)
    for (PciDevice& pci_switch : numa.devices)
      for (PciDevice& device : pci_switch.below)
        if (!device.ports.empty() && device.ports[0].name != "mlx5_3") {
          device.ports.push_back(device.ports[0]);
          device.ports.back().name += "b";
          device.link_speed = "16.0 GT/s PCIe";
        } else if (!device.ports.empty()) {
          device.link_speed = "16.0 GT/s PCIe";
        }
  const Texts found = said(dgx, 2);
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Catch::StartsWith("nic mlx5_3 has 1 port; most NICs of its model have 2: "));
}

TEST_CASE("GPUs far from all NICs are told") {
  Machine box = known("pcie-8gpu");
  std::erase_if(box.numa[0].devices[0].below, [](const PciDevice& device) { return !device.ports.empty(); });
  const Texts found = said(box, 2);
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Catch::StartsWith(
                           "no NIC on the NUMA node of gpu0, gpu1, gpu2 and gpu3; on others: nic mlx5_1: "));
  CHECK(found[0] != found[0].substr(0, found[0].rfind(' ') + 1) + limit(box, 2));
}

TEST_CASE("virtual machines hide what they are made of") {
  Machine box = known("pcie-8gpu");
  NumaNode& numa = box.numa[0];
  std::vector<PciDevice> devices = numa.devices[0].below;
  std::ranges::move(box.numa[1].devices[0].below, std::back_inserter(devices));
  numa.devices = devices;
  box.numa.resize(1);
  CHECK(said(box).empty());
  for (PciDevice& device : numa.devices) device.link_width = 0;
  CHECK(said(box) ==
        Texts{"the PCI tree is hidden, as in virtual machines: the 8 GPUs hang directly off the CPU, and "
              "the speeds of their links are unknown: ?"});
  numa.id = -1;
  CHECK(said(box) ==
        Texts{"the PCI tree is hidden, as in virtual machines: the 8 GPUs hang directly off the CPU, and "
              "the speeds of their links and their NUMA nodes are unknown: ?"});
  Machine nameless = known("pcie-8gpu");
  nameless.numa[0].id = -1;
  CHECK(said(nameless) == Texts{"the NUMA node of gpu0, gpu1, gpu2 and gpu3 is unknown: ?"});
}

TEST_CASE("switches without P2P cost what their GPUs could exchange there") {
  Machine box = known("pcie-8gpu");
  box.p2p_below_switches = false;
  CHECK(limit(box) == "5.0");
  CHECK(said(box) ==
        Texts{"no P2P: GPUs below one PCI switch reach one another only through the CPU (0000:10:00.0 "
              "and 0000:20:00.0): 17.5"});
  Machine fabric = known("hgx-h100");
  fabric.p2p_below_switches = false;
  const Texts found = said(fabric);
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Catch::StartsWith("no P2P: ") && Catch::EndsWith(": 370.8"));
}

TEST_CASE("repairing a fault of any machine loses nothing, and leaves no second fault of its kind") {
  for (const Machine& machine : all_machines()) {
    CAPTURE(machine.source);
    const auto before = machine_limits(machine, 2, {});
    REQUIRE(before.ok());
    for (const MachineFinding& fault : faults(machine)) {
      CAPTURE(fault.text);
      CHECK(!fault.advice.empty());
      if (!fault.change) continue;
      Machine repaired = machine;
      fault.change(repaired);
      const auto after = machine_limits(repaired, 2, {});
      REQUIRE(after.ok());
      CHECK(after.value().all_gather >= before.value().all_gather);
      CHECK(after.value().all_reduce >= before.value().all_reduce);
      for (const MachineFinding& left : faults(repaired)) CHECK(left.text != fault.text);
    }
  }
}
