// SPDX-License-Identifier: Apache-2.0
// What rings make the links of a machine carry, from their orders and the graph alone: how the search's own
// figures are checked, and how orders of others, such as NCCL's, are compared with them. Pure functions: any
// thread.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "graph/topology_graph.h"
#include "limit/rational.h"
#include "search/ring_legs.h"
#include "search/rings.h"

namespace rondo {

struct RingLoad {
  std::vector<Rational> link_kBps;  // by link: of the hops that cross it, at the speeds of the channels
  Rational scale;                   // the largest link_kBps / kBps of a link: at most 1 if the links suffice
  Rational bus_kBps;                // bus bandwidth, all channels sped up or slowed down until that is 1
  std::vector<int> busiest;         // links with that largest quotient
};

/// InvalidArgument, with what is wrong, if these are not orders of the GPUs, as RingLegs has them.
Result<RingLoad> ring_load(const TopologyGraph& graph, std::span<const int> gpus,
                           std::span<const RingChannel> channels, OrderUse use = OrderUse::Ring);

}  // namespace rondo
