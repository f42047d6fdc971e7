// SPDX-License-Identifier: Apache-2.0
// The cost of a plan that has no formula, taken from the plan itself. Pure function: any thread.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace rondo {

/// The cost by the Schedules of all ranks, which verify: work is counted, and rounds and volume are simulated
/// on ports. Takes milliseconds.
Cost cost_of(const Shape& shape, const std::vector<Schedule>& ranks, int slots = 2);

}  // namespace rondo
