// SPDX-License-Identifier: Apache-2.0
// The simulator: runs an algorithm over all ranks in simulated time, with the same bandwidth and latency for
// every link.
//
// Each rank has one port out and one port in; a message occupies both for bytes / bandwidth and arrives one
// latency later. Arithmetic takes no time. With the whole vector as one tile this gives the textbook costs.
// Pure: any thread.
#pragma once

#include <vector>

#include "base/status.h"
#include "schedule/schedule.h"

namespace rondo {

struct SimulatedNetwork {
  double latency_s = 0;
  double bandwidth_bytes_per_s = 1e9;
  int slots = 2;
};

/// Seconds from the start to the last rank's last Step, for a vector of `bytes` bytes (the longer of a rank's
/// input and output) in `tiles` tiles; an error if the schedule deadlocks.
Result<double> simulate(const Shape& shape, const std::vector<Schedule>& ranks, double bytes, int tiles,
                        const SimulatedNetwork& network);

}  // namespace rondo
