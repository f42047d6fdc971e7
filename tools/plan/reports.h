// SPDX-License-Identifier: Apache-2.0
// What rondo-plan prints about one plan.
#pragma once

#include <string>

#include "plan_source.h"

namespace rondo::planner {

/// With how many slots it verifies, or what is wrong with it.
std::string proof_text(rondo_plan_t plan);

/// How large a plan is.
std::string shape_text(rondo_plan_t plan);

/// All steps, a line each; of one rank if `rank` is not negative.
std::string step_list(rondo_plan_t plan, int rank);

/// A line for each size: time and bus bandwidth.
std::string time_table(rondo_plan_t plan, const PlanOptions& options, rondo_topology_t machine);

/// What the time of each size consists of.
std::string explanation(rondo_plan_t plan, const PlanOptions& options, rondo_topology_t machine);

}  // namespace rondo::planner
