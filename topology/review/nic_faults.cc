// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "fault_rules.h"
#include "graph/link_speeds.h"

namespace rondo {
namespace {

int64_t fastest_Mbps(const PciDevice& nic) {
  return std::ranges::max(nic.ports, {}, &NetPort::speed_Mbps).speed_Mbps;
}

/// NICs of one model have equal ports. Without a PCI device number no two are known to be of one.
void compare_ports(const Machine& machine, Faults& faults) {
  std::map<std::pair<std::string, std::string>, std::vector<MachinePart>> models;
  for (const MachinePart& nic : parts_of(machine, PartKind::Nic)) {
    const std::string device = attribute(*nic.device, "device");
    if (!device.empty()) models[{attribute(*nic.device, "vendor"), device}].push_back(nic);
  }
  for (const auto& [model, nics] : models) {
    const auto ports = usual<size_t>(nics, [](const MachinePart& nic) { return nic.device->ports.size(); });
    const auto speed = usual<int64_t>(nics, [](const MachinePart& nic) { return fastest_Mbps(*nic.device); });
    for (const MachinePart& nic : nics) {
      const size_t own = nic.device->ports.size();
      if (ports && own < *ports)
        faults.push_back(
            {fmt::format("{} has {}; most NICs of its model have {}", nic.name, counted(own, "port"), *ports),
             "look for ports that are down: ip link, ibstat",
             [bus_id = nic.device->bus_id, more = *ports - own](Machine& changed) {
               std::vector<NetPort>& all = find_device(changed, bus_id)->ports;
               for (size_t i = 0; i != more; ++i) {
                 all.push_back(all.front());
                 all.back().name += fmt::format("+{}", i + 1);
               }
             }});
      if (speed && fastest_Mbps(*nic.device) < *speed)
        faults.push_back({fmt::format("{}: port of {:g} Gbit/s; most NICs of its model have {:g}", nic.name,
                                      static_cast<double>(fastest_Mbps(*nic.device)) / 1e3,
                                      static_cast<double>(*speed) / 1e3),
                          "check the cable and the speed that the network's switch offers: ethtool, ibstat",
                          [bus_id = nic.device->bus_id, speed = *speed](Machine& changed) {
                            for (NetPort& port : find_device(changed, bus_id)->ports) port.speed_Mbps = speed;
                          }});
    }
  }
}

/// What is between two hosts, not what hosts are managed by: NICs of at least half the fastest one's speed.
std::vector<MachinePart> fast_nics(const Machine& machine) {
  std::vector<MachinePart> nics = parts_of(machine, PartKind::Nic);
  int64_t fastest = 0;
  for (const MachinePart& nic : nics) fastest = std::max(fastest, fastest_Mbps(*nic.device));
  std::erase_if(nics, [&](const MachinePart& nic) { return 2 * fastest_Mbps(*nic.device) < fastest; });
  return nics;
}

/// If there are several NICs, moves every second of them to these NUMA nodes in turn; else adds one like it
/// to each node.
void bring_nics(Machine& machine, const std::vector<std::string>& nics, const std::vector<int>& numa) {
  const auto devices_of = [&](size_t i) -> std::vector<PciDevice>& {
    return std::ranges::find(machine.numa, numa[i % numa.size()], &NumaNode::id)->devices;
  };
  for (size_t i = 1; i < nics.size(); i += 2)
    if (const auto nic = take_out(machine, nics[i])) devices_of(i / 2).push_back(*nic);
  if (nics.size() != 1) return;
  for (size_t i = 0; i != numa.size(); ++i) {
    PciDevice nic = *find_device(machine, nics.front());
    nic.bus_id += fmt::format("+{}", i + 1);
    for (NetPort& port : nic.ports) port.name += fmt::format("+{}", i + 1);
    devices_of(i).push_back(std::move(nic));
  }
}

void find_nodes_without_nic(const Machine& machine, Faults& faults) {
  const std::vector<MachinePart> nics = fast_nics(machine), gpus = parts_of(machine, PartKind::Gpu);
  if (nics.empty()) return;
  std::vector<MachinePart> far;
  std::vector<int> numa;
  std::vector<std::string> bus_ids;
  for (const MachinePart& gpu : gpus) {
    if (std::ranges::any_of(nics, [&](const MachinePart& nic) { return nic.numa == gpu.numa; })) continue;
    far.push_back(gpu);
    if (std::ranges::find(numa, gpu.numa->id) == numa.end()) numa.push_back(gpu.numa->id);
  }
  if (far.empty()) return;
  for (const MachinePart& nic : nics) bus_ids.push_back(nic.device->bus_id);
  faults.push_back({fmt::format("no NIC on the NUMA node{} of {}; on others: {}", numa.size() == 1 ? "" : "s",
                                names_of(far), names_of(nics)),
                    nics.size() > 1
                        ? "if traffic between hosts matters, move some NICs to slots of that processor"
                        : "if traffic between hosts matters, add a NIC to a slot of that processor",
                    [bus_ids, numa](Machine& changed) { bring_nics(changed, bus_ids, numa); }});
}

}  // namespace

void find_nic_faults(const Machine& machine, Faults& faults) {
  compare_ports(machine, faults);
  find_nodes_without_nic(machine, faults);
}

}  // namespace rondo
