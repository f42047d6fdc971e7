// SPDX-License-Identifier: Apache-2.0
// Deliberately broken schedules. Pure functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace rondo {

struct Mutant {
  std::string kind;   // such as "drop a step"
  std::string where;  // rank, lane, step
  std::vector<Schedule> ranks;
};

/// Calls `visit` with every change of one Step, or of two adjacent ones, that changes the schedules' text.
void for_each_mutant(const std::vector<Schedule>& ranks, const std::function<void(const Mutant&)>& visit);

}  // namespace rondo
