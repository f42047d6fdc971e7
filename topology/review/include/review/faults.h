// SPDX-License-Identifier: Apache-2.0
// What is wrong with a machine, as far as its description shows it. Most faults are told by comparing equal
// devices with one another: what one of eight GPUs lacks is a fault, what all lack is how the machine was
// built. Pure function: any thread.
#pragma once

#include <vector>

#include "graph/machine.h"
#include "review/machine_finding.h"

namespace rondo {

/// Each with what to do; its change repairs it. Machine::p2p_below_switches has to be what the graph is built
/// with.
std::vector<MachineFinding> faults(const Machine& machine);

}  // namespace rondo
