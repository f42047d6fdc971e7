// SPDX-License-Identifier: Apache-2.0
// MachineFinding: a difference between two machines, or a fault of one, and its cost. A cost is not a formula
// of its own: the machine is described anew with that one thing changed, and the limits of both descriptions
// are compared. Pure data and functions: any thread.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "graph/machine.h"
#include "graph/topology_graph.h"
#include "limit/rational.h"

namespace rondo {

struct MachineFinding {
  std::string text;    // "17 NVLinks instead of 18 between gpu3 and the NVSwitches"
  std::string advice;  // what to do; empty for what merely differs
  /// Makes the machine what it is with this difference alone, or once this fault is repaired. Empty if a
  /// description cannot say that.
  std::function<void(Machine&)> change;
};

/// Bus bandwidths that plans reach, in kB/s: by NVLink or xGMI alone, if it joins all GPUs.
struct MachineLimits {
  Rational all_gather, all_reduce;  // 0: there are fewer than two GPUs
};

/// The limits of `hosts` such machines, joined by a network that never blocks.
Result<MachineLimits> machine_limits(const Machine& machine, int hosts, const GraphOptions& options);

}  // namespace rondo
