// SPDX-License-Identifier: Apache-2.0
// What one machine has less or more than another. Pure function: any thread.
#pragma once

#include <vector>

#include "graph/machine.h"
#include "review/machine_finding.h"

namespace rondo {

/// What `b` has otherwise than `a`: devices, their PCIe links and places, NVLinks and xGMI links, ports,
/// processors. Devices of equal bus ids are the same, then those of equal names. Each change applies to `a`.
std::vector<MachineFinding> differences(const Machine& a, const Machine& b);

}  // namespace rondo
