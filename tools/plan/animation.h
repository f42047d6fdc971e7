// SPDX-License-Identifier: Apache-2.0
// A moving picture of a run: chunks that travel between ranks.
#pragma once

#include <string>

#include "plan_source.h"

namespace rondo::planner {

/// As SVG with SMIL. Ranks are on a circle; a message is a dot that moves from its sender to its receiver
/// while it is under way, in the colour of its chunks. Each rank has a cell for each group of chunks, which
/// fills as they arrive. It starts again at its end.
std::string animation(rondo_plan_t plan, rondo_plan_run_t run, const std::string& title);

}  // namespace rondo::planner
