// Schedules broken on purpose. Pure functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace rondo {

struct Mutant {
  std::string kind;   // "drop a step" and the like
  std::string where;  // rank, lane, step
  std::vector<Schedule> ranks;
};

/// Calls `visit` with every change of one Step of the schedules, or of two neighbours, that changes their
/// text.
void for_each_mutant(const std::vector<Schedule>& ranks, const std::function<void(const Mutant&)>& visit);

}  // namespace rondo
