// SPDX-License-Identifier: Apache-2.0
// What rondo-plan prints about a call of which it is given no plan: how a communicator would make it.
#pragma once

#include <string>

#include "plan_source.h"

namespace rondo::planner {

/// Whether a word on the command line is to name a collective, and not a plan.
bool is_collective(const std::string& word);

/// Why a communicator would make the call as it does, for each size; on a machine also the time of the chosen
/// plan on its links. Elements are float32, and a reduction is a sum.
std::string choice_text(const std::string& collective, const PlanOptions& options, rondo_topology_t machine);

}  // namespace rondo::planner
