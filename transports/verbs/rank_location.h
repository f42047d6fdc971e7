// SPDX-License-Identifier: Apache-2.0
// RankLocation: where a rank is in its host, so that it can use the ports nearest to it: those below the same
// PCI bridges as its GPU or, without a GPU, those of the memory node of its CPUs. Plain data; reads small
// files.
#pragma once

#include <cstdint>
#include <string>

#include "topology/memory_nodes.h"

namespace rondo::verbs {

struct RankLocation {
  MemoryDistances memory;  // from the rank's GPU or its CPUs; empty: unknown
  std::string gpu;         // its folder, as device_folder() says; empty: the rank has none, or it is unknown
};

/// Of the calling thread and, if there is one, of the GPU with this PCI bus id ("0000:17:00.0").
RankLocation location_of_rank(const std::string& gpu_bus_id);

/// Where a device is among the host's: "/sys/devices/pci0000:10/0000:10:00.0/0000:11:00.0"; empty: unknown.
std::string device_folder(const std::string& link);
/// The number in its file numa_node; -1: unknown.
int16_t memory_node_of(const std::string& folder);

/// VerbsPort::distance of a port whose device is in this folder and near this memory node: comparable among
/// the ports of one rank. A port whose node is unknown is farther than a local one and nearer than others.
uint16_t port_distance(const RankLocation& place, const std::string& folder, int memory_node);
/// Of a rank with a GPU: whether the port is below the same root of the PCI bus.
bool is_below_gpus_root(uint16_t distance);

}  // namespace rondo::verbs
