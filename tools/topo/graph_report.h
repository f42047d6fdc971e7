// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "machine_view.h"

namespace rondo::topo {

/// The fastest rings, a line for each channel, and the limits beside them.
std::string ring_table(const MachineView& machine, rondo_topology_t topology);

/// What the graphs of a file of NCCL's give on the machine.
std::string loaded_graphs(rondo_topology_t topology, const std::string& path);

}  // namespace rondo::topo
