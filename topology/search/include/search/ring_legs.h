// SPDX-License-Identifier: Apache-2.0
// RingLegs: the links that an order crosses from each node to the next. A leg leads from GPU to GPU, or
// between hosts from a GPU to its NIC, through the network to the next host's NIC, and on to a GPU. One
// thread at a time; the graph and the list of GPUs have to outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "graph/topology_graph.h"
#include "search/forest.h"
#include "search/rings.h"

namespace rondo {

class RingRoutes;

/// How data moves along an order.
enum class OrderUse : uint8_t {
  Ring,           // each GPU sends to the next, the last to the first: all-gather, reduce-scatter, all-reduce
  Chain,          // each but the last sends to the next: broadcast from the first, reduce to the last
  ChainBothWays,  // there and back, as in NCCL's trees on a host: all-reduce
};

struct RingLeg {
  int from = 0, to = 0;  // nodes
  std::vector<Hop> hops;
};

class RingLegs {
 public:
  /// `gpus` are different GPUs of the graph.
  RingLegs(const TopologyGraph& graph, std::span<const int> gpus);
  ~RingLegs();

  /// In the order of the channel; both ways, each leg is followed by the one back. InvalidArgument, with what
  /// is wrong, if it is not an order of the GPUs: it does not have every rank once, there is no path from one
  /// to the next, hops between hosts lack a NIC of each.
  Result<std::vector<RingLeg>> of(const RingChannel& channel, OrderUse use = OrderUse::Ring) const;

 private:
  int gpu(int rank) const { return gpus_[static_cast<size_t>(rank)]; }
  Status check_order(const std::vector<int>& order) const;
  Status check_nic(int nic, int gpu) const;
  Status add_hop(int from, const NicPair* nics, int to, std::vector<RingLeg>& legs) const;

  const TopologyGraph& graph_;
  const std::span<const int> gpus_;
  const std::unique_ptr<const RingRoutes> routes_;
};

}  // namespace rondo
