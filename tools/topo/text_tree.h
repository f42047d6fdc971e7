// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "machine_view.h"
#include "plan_view.h"

namespace rondo::topo {

/// The PCI devices below each NUMA node, with what joins each device, in GB/s.
std::string text_tree(const MachineView& machine);

/// Prints the class and bandwidth of the best path from each GPU to each GPU and NIC: of the largest machines
/// tens of megabytes.
void print_path_table(const MachineView& machine, rondo_topology_t topology);

/// The bandwidth that plans reach, for each collective that moves data, and what limits it.
std::string limit_table(rondo_topology_t topology);

/// For Graphviz: one edge for links both ways, colours by class. With a plan an edge for each link that a
/// tree or ring crosses, in its colour, and grey ones for links that none crosses.
std::string dot_graph(const MachineView& machine, const PlanView* plan = nullptr);

}  // namespace rondo::topo
