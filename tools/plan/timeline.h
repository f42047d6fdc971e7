// SPDX-License-Identifier: Apache-2.0
// A picture of a run: ranks down, time across.
#pragma once

#include <string>

#include "plan_source.h"

namespace rondo::planner {

/// As SVG. Of few messages each is a line from its sender, when its first byte leaves, to its receiver, when
/// it arrives; of many, or with `bars`, a bar in a row of its sender's for that receiver while it leaves.
std::string timeline(rondo_plan_t plan, rondo_plan_run_t run, const std::string& title, bool bars);

}  // namespace rondo::planner
