// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "rondo/topology.h"

namespace rondo::topo {

/// The heading of a table in Markdown of the limits of machines, and a machine's row in it: the limit and the
/// best plan of all_gather, and the CPU time that finding both took.
std::string limit_summary_heading();
std::string limit_summary_row(const std::string& name, rondo_topology_t topology);

}  // namespace rondo::topo
