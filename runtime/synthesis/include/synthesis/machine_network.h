// SPDX-License-Identifier: Apache-2.0
// The links of a machine as the network of a simulation, and what Schedules make links carry.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "graph/topology_graph.h"
#include "schedule/schedule.h"
#include "schedule/simulator.h"
#include "search/forest.h"

namespace rondo {

/// What a message that follows these hops takes of each link.
std::vector<SimulatedLinkUse> uses_of(std::span<const Hop> hops);

/// The links that messages between the GPUs of ranks cross.
class MachineNetwork {
 public:
  /// Rank r is gpus[r]. Without a forest every connection takes the best path (search/message_links.h);
  /// Schedules of a forest of these GPUs take its routes, and those of the other direction from child to
  /// parent. Unsupported, with both ends, if two GPUs that `ranks` connect have no path.
  static Result<MachineNetwork> of(const TopologyGraph& graph, std::span<const int> gpus,
                                   const std::vector<Schedule>& ranks, const Forest* forest = nullptr);

  /// For simulate(); valid as long as this. Link i is the graph's.
  SimulatedNetwork network(double latency_s, int slots) const;

 private:
  struct Table;
  std::shared_ptr<const Table> table_;
};

/// The bytes that each link carries in a call, for one byte of the vector (the longer of a rank's input and
/// output). On a network of ports, those out of ranks, then those into ranks.
std::vector<double> loads_of(const std::vector<Schedule>& ranks, const SimulatedNetwork& network);

}  // namespace rondo
