// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "rondo/topology.h"

namespace rondo::topo {

/// A topology, and what to call it.
struct NamedTopology {
  std::string name;
  rondo_topology_t topology;
};

/// What the second machine has less or more than the first, what each difference alone makes of the limits
/// of all_gather and all_reduce, and the limits of both machines.
std::string difference_table(const NamedTopology& a, const NamedTopology& b);

/// What is wrong with a machine, worst first, what each finding costs, and what to do; then what the
/// description left to guess.
std::string fault_table(const NamedTopology& machine, const std::vector<std::string>& remarks);

/// What on this host, or on one with its sys and proc below `root`, slows collectives down, and what to do.
std::string host_fault_list(const std::string& root);

}  // namespace rondo::topo
