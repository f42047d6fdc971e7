// SPDX-License-Identifier: Apache-2.0
// The time of plans that follow the links of a communicator's machine, for explanations. Pure function: any
// thread.
#pragma once

#include "algorithms/algorithm.h"
#include "synthesis/found_plans.h"
#include "synthesis/plan_time.h"

namespace rondo {

/// How long a call by one of FoundPlans' algorithms takes on the links of the ranks' machine, in simulated
/// time. `bytes`: of the vector. The machine is described and searched anew, which takes tenths of a second.
Result<PlanTime> time_on_links(const RanksOfMachine& ranks, const Algorithm& algorithm, const Shape& shape,
                               double bytes, int tiles, double latency_s, int slots);

}  // namespace rondo
