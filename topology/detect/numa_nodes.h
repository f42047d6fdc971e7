// SPDX-License-Identifier: Apache-2.0
// The NUMA nodes of a host that have CPUs, and what processors these are.
#pragma once

#include <vector>

#include "detect/sysfs.h"
#include "graph/machine.h"

namespace rondo {

/// Ascending by their number; at least one. A host that shows none has one without a number.
Result<std::vector<NumaNode>> read_numa_nodes(Sysfs& sysfs);

}  // namespace rondo
