// SPDX-License-Identifier: Apache-2.0
// The host's clocks. Any thread.
#pragma once

#include <time.h>

#include <algorithm>

namespace rondo::perf {

inline double now_us(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

/// The clock that -C selects.
inline clockid_t clock_for(bool cpu_time) { return cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC; }

/// The cost of reading the clock: that of the fastest of several batches, which excludes interruptions.
inline double clock_read_ns(clockid_t clock) {
  constexpr int kBatches = 20, kReads = 100;
  double quickest_us = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    const double start = now_us(clock);
    for (int i = 1; i < kReads; ++i) static_cast<void>(now_us(clock));
    const double elapsed_us = now_us(clock) - start;
    quickest_us = batch == 0 ? elapsed_us : std::min(quickest_us, elapsed_us);
  }
  return quickest_us * 1e3 / kReads;
}

}  // namespace rondo::perf
