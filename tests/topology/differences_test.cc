// SPDX-License-Identifier: Apache-2.0
// What machines differ in: each difference alone makes the first machine's limit what it should be, and all
// together make the first machine the second.
#include "review/differences.h"
#include "catch.h"
#include "limit_machines.h"
#include "review_machines.h"

using namespace rondo;
using namespace rondo::test;

namespace {

Texts said(const Machine& a, const Machine& b, int hosts = 1) {
  return test::said(a, differences(a, b), hosts);
}

}  // namespace

TEST_CASE("a link that is down is a difference that costs what it carried") {
  const Machine whole = known("dgx-1v");
  Machine broken = whole;
  break_link(broken, 0, 3);
  CHECK(limit(whole) == "120.0");
  CHECK(said(whole, broken) == Texts{"1 NVLink instead of 2 between gpu0 and gpu3: 100.0"});
  CHECK(said(broken, whole) == Texts{"2 NVLinks instead of 1 between gpu0 and gpu3: 120.0"});
  Machine switched = known("hgx-h200");
  --find_gpu(switched, 3)->links[0].count;
  CHECK(said(known("hgx-h200"), switched) ==
        Texts{"17 NVLinks instead of 18 between gpu3 and the NVSwitches: 350.2"});
}

TEST_CASE("a link that is down in one direction is said to be of that direction") {
  const Machine whole = known("dgx-1v");
  Machine broken = whole;
  std::erase_if(find_gpu(broken, 0)->links,
                [&](const FabricLinks& links) { return links.target_bus_id == bus_id_of(broken, 1); });
  CHECK(said(whole, broken) == Texts{"no NVLink instead of 1 from gpu0 to gpu1: 100.0"});
}

TEST_CASE("a NIC at half width costs what it is missed for: between hosts") {
  const Machine whole = known("dgx-1v");
  Machine narrow = whole;
  nic_below(narrow, 1).link_width = 8;
  const std::string text = "nic mlx5_1: PCIe x8 at 8.0 GT/s instead of x16 at 8.0 GT/s: ";
  CHECK(limit(whole, 2) == "90.0");
  CHECK(said(whole, narrow) == Texts{text + "120.0"});
  CHECK(said(whole, narrow, 2) == Texts{text + "78.8"});
  nic_below(narrow, 1).link_width = 16;
  nic_below(narrow, 1).ports[0].speed_Mbps = 25'000;
  CHECK(said(whole, narrow, 2) ==
        Texts{"nic mlx5_1: 1 port of 25 Gbit/s instead of 1 port of 100 Gbit/s: 73.4"});
}

TEST_CASE("devices that one machine lacks are told by bus id, also if the others have new numbers") {
  const Machine whole = known("mi300x");
  Machine less = whole;
  for (NumaNode& numa : less.numa)
    for (PciDevice& pci_switch : numa.devices)
      std::erase_if(pci_switch.below,
                    [](const PciDevice& device) { return device.gpu && device.gpu->dev == 3; });
  for (int dev = 4; dev != 8; ++dev) find_gpu(less, dev)->dev = dev - 1;
  CHECK(said(whole, less) == Texts{"gpu3 (0000:41:00.0) is missing: 288.0"});
  CHECK(said(less, whole) == Texts{"gpu3 (0000:41:00.0) is additional: 336.0"});
}

TEST_CASE("machines of other bus ids are compared by the names of their devices") {
  const Machine a = known("dgx-1v");
  Machine b = a;
  for (NumaNode& numa : b.numa)
    for (PciDevice& pci_switch : numa.devices)
      for (PciDevice& device : pci_switch.below) {
        device.bus_id.replace(0, 4, "0001");
        if (device.gpu)
          for (FabricLinks& links : device.gpu->links) links.target_bus_id.replace(0, 4, "0001");
      }
  CHECK(said(a, b).empty());
  find_gpu(b, 5)->links[0].count += 1;
  CHECK(said(a, b).size() == 1);
}

TEST_CASE("all differences that descriptions can state make a machine the other") {
  const std::vector<Machine> machines = all_machines();
  int pairs = 0;
  for (const Machine& a : machines) {
    for (const Machine& b : machines) {
      CAPTURE(a.source, b.source);
      Machine changed = a;
      bool stated = true;
      for (const MachineFinding& finding : differences(a, b)) {
        if (finding.change)
          finding.change(changed);
        else
          stated = false;
      }
      if (!stated) continue;
      ++pairs;
      CHECK(said(changed, b).empty());
      CHECK(limit(changed) == limit(b));
    }
  }
  CHECK(pairs >= static_cast<int>(machines.size()));
}
