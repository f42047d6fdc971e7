// SPDX-License-Identifier: Apache-2.0
// complete_template(): descriptions without GPUs and ports, and the hosts that they are of.
#include "detect/complete_template.h"

#include "catch.h"
#include "detected.h"
#include "formats/nccl_xml.h"
#include "graph/known_machines.h"
#include "graph/missing_parts.h"
#include "graph_lines.h"
#include "nccl_host.h"

namespace {

using namespace rondo;
using namespace rondo::test;

/// The PCI tree; if `is_bare` by its bus ids alone.
Machine template_of(Machine machine, bool is_bare) {
  machine.source = "template.xml";
  visit_devices(machine, [&](PciDevice& device) {
    device.gpu.reset();
    device.ports.clear();
    device.has_nic = false;
    if (!is_bare) return;
    device.pci_class.clear();
    device.link_speed.clear();
    device.link_width = 0;
    device.extra.clear();
  });
  for (NumaNode& numa : machine.numa) {
    if (!is_bare) continue;
    numa.arch.clear();
    numa.vendor.clear();
    numa.family = numa.model = -1;
  }
  return machine;
}

Machine known(const char* name) {
  auto machine = known_machine(name);
  REQUIRE(machine.ok());
  return machine.take();
}

}  // namespace

TEST_CASE("a template and its host make the host again") {
  std::vector<Machine> machines;
  for (const KnownMachine& one : known_machines()) machines.push_back(known(one.name.data()));
  for (const std::string& path : recorded_topologies())
    if (auto machine = machine_from_nccl_xml_file(path);
        machine.ok() && missing_parts(machine.value()).empty())
      machines.push_back(machine.take());
  for (const Machine& machine : machines) {
    for (const bool is_bare : {false, true}) {
      INFO(machine.source << (is_bare ? ", bare" : ""));
      Machine description = template_of(machine, is_bare);
      CHECK(!missing_parts(description).empty());
      REQUIRE(complete_template(description, machine));
      CHECK(missing_parts(description).empty());
      CHECK(graph_lines(graph_of(description)) == graph_lines(graph_of(machine)));
    }
  }
}

TEST_CASE("the template's tree counts if the host hides its own") {
  const Machine full = known("pcie-8gpu");
  Machine flat = full;
  std::vector<PciDevice> devices;
  visit_devices(flat, [&](const PciDevice& device) {
    if (device.gpu || !device.ports.empty()) devices.push_back(device);
  });
  for (NumaNode& numa : flat.numa) numa.devices.clear();
  flat.numa.front().devices = std::move(devices);
  Machine description = template_of(full, false);
  REQUIRE(complete_template(description, flat));
  CHECK(graph_lines(graph_of(description)) == graph_lines(graph_of(full)));
  check_repair(description, "template.xml: a template; 8 GPUs of ");
}

TEST_CASE("a template of another host stays as it is") {
  const Machine host = known("hgx-h100");
  Machine smaller = template_of(host, false);
  smaller.numa.back().devices.clear();  // with half of the GPUs
  Machine whole = template_of(host, false);
  Machine without_gpus = template_of(host, false);
  CHECK(!complete_template(smaller, host));
  CHECK(!complete_template(whole, without_gpus));
  CHECK(!missing_parts(smaller).empty());
  Machine complete = host;
  CHECK(!complete_template(complete, host));
  CHECK(complete.repairs == host.repairs);
}

TEST_CASE("GPUs that the host does not show are missing from the template still") {
  const Machine full = known("hgx-h100");
  Machine fewer = full;
  visit_devices(fewer, [](PciDevice& device) {
    if (device.gpu && device.gpu->dev >= 6) device.gpu.reset();
  });
  Machine description = template_of(full, false);
  REQUIRE(complete_template(description, fewer));
  REQUIRE(missing_parts(description).size() == 1);
  CHECK(missing_parts(description).front() == "2 PCI devices of class 0x0302 without a GPU");
}
