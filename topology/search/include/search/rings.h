// SPDX-License-Identifier: Apache-2.0
// RingPlan: rings over the links of a machine, as plain data. Each channel is an order of all GPUs, closed to
// a ring, along which data moves from each GPU to the next by the best path between them (graph/paths.h).
// An all-gather or reduce-scatter of n blocks sends n - 1 of them over every hop, so the bus bandwidth of a
// plan is the sum of what its channels carry. Any thread.
//
//   one host          gpu0 -> gpu3 -> gpu2 -> gpu1 -> gpu0
//
//   several hosts     network -> nic0 -> gpu0 -> gpu1 -> nic1 -> network     of the first host
//                     network -> nic2 -> gpu3 -> gpu2 -> nic2 -> network     of the next, and so on
#pragma once

#include <cstdint>
#include <vector>

#include "limit/rational.h"

namespace rondo {

/// Where a ring changes from one host to the next: nodes of the graph.
struct NicPair {
  int leaves = 0;
  int enters = 0;
  friend bool operator==(const NicPair&, const NicPair&) = default;
};

struct RingChannel {
  std::vector<int> order;     // ranks; the last sends to the first
  std::vector<NicPair> nics;  // of each hop between hosts, in the same order; the last hop closes the ring
  int64_t kBps = 0;           // that every hop carries
  friend bool operator==(const RingChannel&, const RingChannel&) = default;
};

struct RingPlan {
  std::vector<int> gpus;  // the node of each rank
  std::vector<RingChannel> channels;
  int64_t bus_kBps = 0;     // bus bandwidth: the sum of the channels
  Rational bound_kBps;      // that no rings exceed, whatever paths they take
  bool is_optimal = false;  // no rings over the same kind of paths are faster, but for parts of a kB/s
  friend bool operator==(const RingPlan&, const RingPlan&) = default;
};

}  // namespace rondo
