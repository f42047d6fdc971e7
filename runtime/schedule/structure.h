// SPDX-License-Identifier: Apache-2.0
// The static part of the verifier: whether each Step is well formed and all ranks agree on what they share.
// Pure function: any thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "schedule/schedule.h"

namespace rondo {

Status check_structure(const Shape& shape, const std::vector<Schedule>& ranks);

/// "rank 2 lane 0 step 3 (recv 1 -> output[0])", for messages.
std::string place_of(const Schedule& schedule, size_t lane, size_t step);

}  // namespace rondo
