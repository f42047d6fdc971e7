// SPDX-License-Identifier: Apache-2.0
// Times calls. Collective: every thread calls this.
#pragma once

#include <vector>

#include "trial.h"

namespace rondo::perf {

/// Microseconds per call.
struct CallTimes {
  std::vector<double> ranks_us;       // of each rank of the team, the mean over all iterations
  std::vector<double> iterations_us;  // of each iteration, the slowest rank of the team; empty without -I
};

/// Times the calls after the warm-up.
rondo_status_t time_calls(Team& team, const std::vector<Trial>& trials, CallTimes& times);

}  // namespace rondo::perf
