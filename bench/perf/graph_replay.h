// Calls captured into a CUDA graph, and launched. Collective: every thread calls this.
#pragma once

#include <functional>

#include "team.h"

namespace rondo::perf {

struct Launches {
  int untimed = 0;  // before the others
  int timed = 1;
};

/// Captures what body() of every thread of the process gives to its ranks' streams, launches that and waits
/// for it. `elapsed_us` is the time of all timed launches, by the clock that the options want.
rondo_status_t replay(Team& team, const std::function<rondo_status_t()>& body, const Launches& launches,
                      double& elapsed_us);

}  // namespace rondo::perf
