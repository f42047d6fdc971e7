// SPDX-License-Identifier: Apache-2.0
// The search for the fastest Forest: k <= 8 trees a root at the exact bound of all-gather where such a k
// exists, else as close as whole numbers, or shares of the ways through NVSwitches, allow. Pure functions:
// any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <span>

#include "base/status.h"
#include "graph/topology_graph.h"
#include "search/forest.h"

namespace rondo {

struct ForestOptions {
  int64_t max_k = 8;
  /// Where the search ends: it returns the best forest so far, at worst the shortest ways between GPUs. The
  /// limit in flows is reached at the same point on every host; that in time is not.
  int64_t max_flows = std::numeric_limits<int64_t>::max();
  std::chrono::nanoseconds max_time = std::chrono::milliseconds(700);
};

/// More than 32 GPUs that NVSwitches join are content with 99.9% of the bound, which trees of depth 1 reach,
/// or of depth 2 if many links are missing.
/// Clusters of more than 128 GPUs, and machines whose GPUs have more than 150,000 ways through NVSwitches or
/// equal NICs, get the shortest ways, `stopped` unless they reach the bound; more than 256 GPUs are
/// Unsupported.
///
/// A forest of the GPUs `gpus`, rank 0 first, over the links of the graph; other GPUs forward nothing.
/// InvalidArgument if these are not different GPUs of the graph; Unsupported if one of them cannot reach
/// another.
Result<Forest> find_forest(const TopologyGraph& graph, std::span<const int> gpus,
                           const ForestOptions& options = {});

}  // namespace rondo
