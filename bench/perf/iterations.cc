// SPDX-License-Identifier: Apache-2.0
#include "iterations.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rondo::perf {
namespace {

double nearest_rank(const std::vector<double>& sorted, size_t percent) {
  const size_t rank = (sorted.size() * percent + 99) / 100;  // rounded up
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace

IterationStatistics statistics_of(const IterationTimes& times) {
  std::vector<double> sorted(times.times_us.begin() + times.skipped, times.times_us.end());
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  IterationStatistics found;
  found.least_us = sorted.front();
  found.p50_us = sorted[sorted.size() / 2];
  found.p95_us = nearest_rank(sorted, 95);
  found.p99_us = nearest_rank(sorted, 99);
  found.most_us = sorted.back();
  found.mean_us = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  double squares = 0;
  for (const double us : sorted) squares += (us - found.mean_us) * (us - found.mean_us);
  found.deviation_us = std::sqrt(squares / count);
  return found;
}

}  // namespace rondo::perf
