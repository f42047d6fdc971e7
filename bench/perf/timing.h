// SPDX-License-Identifier: Apache-2.0
// Times calls. Collective: every thread calls this.
#pragma once

#include <vector>

#include "trial.h"

namespace rondo::perf {

/// Microseconds per call of each rank of the team, after the warm-up.
rondo_status_t time_calls(Team& team, const std::vector<Trial>& trials, std::vector<double>& times_us);

}  // namespace rondo::perf
