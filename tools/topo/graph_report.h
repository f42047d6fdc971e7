// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "machine_view.h"

namespace rondo::topo {

/// "channel 0: 0 3 2 1, 40.0 GB/s": one of the fastest rings.
std::string channel_text(const MachineView& machine, rondo_topology_t topology, int channel);

/// The fastest rings, a line for each channel, and the limits beside them.
std::string ring_table(const MachineView& machine, rondo_topology_t topology);

/// Where each host is in two trees over the hosts, if there are several.
std::string host_trees(const MachineView& machine, rondo_topology_t topology);

/// What the graphs of a file of NCCL's give on the machine.
std::string loaded_graphs(rondo_topology_t topology, const std::string& path);

}  // namespace rondo::topo
