// SPDX-License-Identifier: Apache-2.0
// The search for the fastest RingPlan. Pure functions: any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <span>

#include "base/status.h"
#include "graph/topology_graph.h"
#include "search/rings.h"

namespace rondo {

struct RingOptions {
  /// Where the search ends, with the best rings so far. The limit in steps, each of about a microsecond, is
  /// reached at the same point on every host; that in time is not.
  int64_t max_steps = std::numeric_limits<int64_t>::max();
  std::chrono::nanoseconds max_time = std::chrono::milliseconds(700);
};

/// Rings through the GPUs `gpus`, rank 0 first, over the links of the graph; other GPUs forward nothing. The
/// plan with the highest bandwidth wins, then the one with the fewest channels; channels may differ in speed.
/// Hops lead through switches alone; if there is no such ring, also through one GPU in between, as NCCL's
/// path class NVB does. On several hosts a ring goes through all GPUs of one host before it moves on to the
/// next. The rings of each host are found alone, so hosts that differ and have ports in several networks
/// (planes) may have faster ones, or some although none is found. InvalidArgument if these are not different
/// GPUs of the graph; Unsupported if no ring was found.
Result<RingPlan> find_rings(const TopologyGraph& graph, std::span<const int> gpus,
                            const RingOptions& options = {});

}  // namespace rondo
