// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "matching.h"
#include "review/machine_finding.h"

namespace rondo {

/// NVLinks, xGMI and C2C links of the GPUs that both machines have. Those to all NVSwitches of a GPU are one
/// number, since one machine may show switches that the other hides.
std::vector<MachineFinding> fabric_differences(const Machine& a, const Machine& b, const Matching& matching);

}  // namespace rondo
