// SPDX-License-Identifier: Apache-2.0
// The times of the single iterations of a row (-I). Pure functions: any thread.
#pragma once

#include <vector>

namespace rondo::perf {

/// Of each iteration the slowest rank's time per call.
struct IterationTimes {
  int skipped = 0;  // leading ones that the statistics leave out (-K)
  std::vector<double> times_us;
};

/// nccl-tests' statistics of them, and its percentiles: p50 is the upper median, p95 and p99 are nearest
/// ranks.
struct IterationStatistics {
  double least_us = 0, p50_us = 0, p95_us = 0, p99_us = 0, most_us = 0;
  double mean_us = 0, deviation_us = 0;  // standard deviation

  double variation_percent() const { return mean_us > 0 ? 100 * deviation_us / mean_us : 0; }
};

/// `times` has more than `skipped` iterations.
IterationStatistics statistics_of(const IterationTimes& times);

}  // namespace rondo::perf
