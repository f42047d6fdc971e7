// SPDX-License-Identifier: Apache-2.0
// StarPlan: all_reduce by NVSwitches that combine and copy (NVIDIA calls it NVLS), as plain data. Each star
// has a head, the GPU that owns a part of the vector: the switches combine that part of all GPUs on its way
// to the head, and copy the result on its way from the head to all GPUs. A model that has not been compared
// with hardware, and that nothing carries out. Pure functions: any thread.
//
//   gpu0  gpu1  gpu2  gpu3          gpu0  gpu1  gpu2  gpu3
//      \    |     |    /               ^    ^     ^    ^
//       v   v     v   v                 \   |     |   /
//          NVSwitch                        NVSwitch
//              | the sum                       ^
//              v                               | the sum
//            head                            head
//
// Hence a link from or to a GPU carries the whole vector once, and the part of which it is the head once
// more. Several NVSwitches are used at once, each for as much as the narrowest links to it allow. Bandwidths
// are as bandwidth_bound() takes them (limit/bound.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/topology_graph.h"
#include "limit/rational.h"

namespace rondo {

struct Star {
  int head = 0;       // rank
  int64_t share = 0;  // of the vector: in proportion to the other stars' shares
  friend bool operator==(const Star&, const Star&) = default;
};

struct StarPlan {
  std::vector<Star> stars;  // by rank
  Rational bus_kBps;        // all_reduce's bus bandwidth, as nccl-tests defines it
  int narrowest = 0;        // rank of the GPU whose links are full
};

/// The fastest stars, with a head on every GPU that has bandwidth to spare for it. Unsupported, with the
/// reason, if no NVSwitch that combines joins all GPUs; InvalidArgument if there are fewer than two.
Result<StarPlan> find_stars(const TopologyGraph& graph, std::span<const int> gpus);

/// The bandwidth of stars with these heads and shares, of which one or more are positive; `narrowest` is the
/// first GPU whose links are full.
Result<StarPlan> star_plan(const TopologyGraph& graph, std::span<const int> gpus, std::vector<Star> stars);

}  // namespace rondo
