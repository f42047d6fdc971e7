// SPDX-License-Identifier: Apache-2.0
// Graphs and hosts for tests of limits.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "graph/machine.h"
#include "graph/topology_graph.h"

namespace rondo::test {

/// A node for graphs made by hand: gpu0, gpu1, ... and others by their names.
inline TopologyNode gpu_node(int dev, int host = 0) {
  TopologyNode node;
  node.host = host;
  node.name = fmt::format("gpu{}", dev);
  node.dev = dev;
  return node;
}
inline TopologyNode other_node(NodeKind kind, std::string name, int host = 0) {
  TopologyNode node;
  node.kind = kind;
  node.host = host;
  node.name = std::move(name);
  return node;
}

/// The GPU numbered `dev` of a host or of devices; null: there is none.
GpuInfo* find_gpu(Machine& machine, int dev);
/// The bus id of that GPU.
std::string bus_id_of(Machine& machine, int dev);

/// Takes one of the links between two GPUs away, in both directions.
void break_link(Machine& machine, int a, int b);

/// A host with two NUMA nodes, eight GPUs joined by an NVSwitch, below four PCIe switches with two GPUs each,
/// and `nics_per_switch` NICs below each switch.
struct HgxHost {
  int sm = 90;
  int nvlinks = 18;
  int nics_per_switch = 1;
  int64_t nic_Mbps = 200'000;
  int nic_gigatransfers = 32;  // of its PCIe link, of 16 lanes
};
Machine hgx(const HgxHost& host);

}  // namespace rondo::test
