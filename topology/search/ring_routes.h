// SPDX-License-Identifier: Apache-2.0
// RingRoutes: the links that a hop of a ring crosses: those of the best path from a GPU to another of its
// host, to a NIC, or from a NIC. GPUs that take no part forward nothing. Through several NVSwitches bytes
// spread by the bandwidth that leads through each, to a thousandth. One thread at a time; the graph has to
// outlive it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/paths.h"
#include "graph/topology_graph.h"
#include "search/forest.h"

namespace rondo {

class RingRoutes {
 public:
  RingRoutes(const TopologyGraph& graph, std::span<const int> gpus);

  /// From a GPU to another one or to a NIC. Nothing: there is no path.
  std::optional<std::vector<Hop>> from_gpu(int gpu, int to) const;
  std::optional<std::vector<Hop>> from_nic(int nic, int gpu) const;

  /// The network that a NIC is joined to, by all of its ports at once. Nothing: there is none.
  struct NetworkLinks {
    int network = 0;
    Hop to, from;
  };
  std::optional<NetworkLinks> network_of(int nic) const;

 private:
  Hop between(int from, int to) const;
  std::vector<Hop> spread(const std::vector<int>& links) const;

  const TopologyGraph& graph_;
  std::vector<int> links_;  // of `graph_`, by link of those below
  TopologyGraph there_, back_;
  Paths paths_there_, paths_back_;
};

}  // namespace rondo
