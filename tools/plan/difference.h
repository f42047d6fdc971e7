// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plan_source.h"

namespace rondo::planner {

/// A plan, and what to call it.
struct ComparedPlan {
  std::string name;
  rondo_plan_t plan;
};

/// What two plans differ in: size, proof, messages between each pair of ranks, steps, and predicted time.
std::string difference_table(const ComparedPlan& a, const ComparedPlan& b, const PlanOptions& options,
                             rondo_topology_t machine);

}  // namespace rondo::planner
