// SPDX-License-Identifier: Apache-2.0
// The host's clocks. Any thread.
#pragma once

#include <time.h>

namespace rondo::perf {

inline double now_us(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

/// The clock that -C selects.
inline clockid_t clock_for(bool cpu_time) { return cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC; }

}  // namespace rondo::perf
