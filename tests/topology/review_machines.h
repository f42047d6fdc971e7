// SPDX-License-Identifier: Apache-2.0
// Machines for tests of reviews, and what their limits are.
#pragma once

#include <string>
#include <vector>

#include "catch.h"
#include "graph/known_machines.h"
#include "nccl_host.h"
#include "review/machine_finding.h"

namespace rondo::test {

inline Machine known(std::string_view name) {
  auto machine = known_machine(name);
  REQUIRE(machine.ok());
  return machine.take();
}

/// Every known and every recorded machine.
inline std::vector<Machine> all_machines() {
  std::vector<Machine> machines;
  for (const KnownMachine& known_one : known_machines()) machines.push_back(known(known_one.name));
  for (const std::string& path : recorded_topologies()) {
    auto machine = machine_from_nccl_xml_file(path);
    REQUIRE(machine.ok());
    machines.push_back(machine.take());
  }
  return machines;
}

/// Bus bandwidth of all_gather in GB/s, to the tenth that reports show.
inline std::string limit(const Machine& machine, int hosts = 1) {
  const auto limits = machine_limits(machine, hosts, {});
  REQUIRE(limits.status().message() == "");
  return fmt::format("{:.1f}", limits.value().all_gather.approximate() / 1e6);
}

/// "text: limit" of each finding; limits as `hosts` such machines have them.
inline std::vector<std::string> said(const Machine& machine, const std::vector<MachineFinding>& findings,
                                     int hosts = 1) {
  std::vector<std::string> result;
  for (const MachineFinding& finding : findings) {
    Machine changed = machine;
    if (finding.change) finding.change(changed);
    result.push_back(finding.text + ": " + (finding.change ? limit(changed, hosts) : "?"));
  }
  return result;
}

using Texts = std::vector<std::string>;

/// The first NIC below a switch of the first NUMA node.
inline PciDevice& nic_below(Machine& machine, size_t pci_switch) {
  for (PciDevice& device : machine.numa[0].devices[pci_switch].below)
    if (!device.ports.empty()) return device;
  FAIL("no NIC");
  return machine.numa[0].devices[0];
}

}  // namespace rondo::test
