// SPDX-License-Identifier: Apache-2.0
// Captures calls into a CUDA graph and launches it. Collective: every thread calls this.
#pragma once

#include <functional>

#include "team.h"

namespace rondo::perf {

struct Launches {
  int untimed = 0;  // first
  int timed = 1;
};

/// Captures what body() of every thread of the process enqueues on its ranks' streams, launches the graph and
/// waits for it. `elapsed_us` is the time of all timed launches, by the clock that the options select.
rondo_status_t replay(Team& team, const std::function<rondo_status_t()>& body, const Launches& launches,
                      double& elapsed_us);

}  // namespace rondo::perf
