// SPDX-License-Identifier: Apache-2.0
// MessageLinks: the links that a message crosses from one GPU to another if no plan says otherwise: those of
// the best path on a host, and between hosts by the NIC that is nearest to each of them. One thread at a
// time; the graph and the list of GPUs have to outlive it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "graph/topology_graph.h"
#include "search/forest.h"

namespace rondo {

class Paths;
class RingRoutes;

class MessageLinks {
 public:
  /// `gpus` are different GPUs of the graph, rank 0 first; other GPUs forward nothing.
  MessageLinks(const TopologyGraph& graph, std::span<const int> gpus);
  ~MessageLinks();

  /// The links from one rank to another. GPUs that are equally near to several NICs use them in turn.
  /// Unsupported if there is no path.
  Result<std::vector<Hop>> between(int from, int to) const;

 private:
  int nearest_nic(int gpu) const;

  const TopologyGraph& graph_;
  const std::span<const int> gpus_;
  const std::unique_ptr<const RingRoutes> routes_;
  const std::unique_ptr<const Paths> paths_;
};

}  // namespace rondo
