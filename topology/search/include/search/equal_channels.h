// SPDX-License-Identifier: Apache-2.0
// Channels of one speed, as NCCL has them, out of channels that differ in speed: a channel becomes several of
// the same order. Pure functions: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/topology_graph.h"
#include "search/rings.h"

namespace rondo {

/// The speed, at most `max_kBps`, with which up to `max_channels` channels carry the most in all, and of
/// those the highest. If even one channel for each of the given is too many, those that carry least are left
/// out. Both limits are at least 1.
std::vector<RingChannel> equal_channels(std::span<const RingChannel> channels, int max_channels,
                                        int64_t max_kBps);

/// What one physical NVLink or xGMI link carries, of the slowest in the graph: a speed that a channel reaches
/// with the threads of one block. If there are none, no limit: all that any link carries.
int64_t usual_channel_kBps(const TopologyGraph& graph);

}  // namespace rondo
