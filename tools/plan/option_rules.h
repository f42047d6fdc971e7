// SPDX-License-Identifier: Apache-2.0
// Which options of rondo-plan go with which plans: those that would have no effect are refused.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "plan_source.h"

namespace rondo::planner {

/// What is wrong with the options of a command, or empty.
std::string option_problem(const CLI::App& command, const PlanOptions& options);

}  // namespace rondo::planner
