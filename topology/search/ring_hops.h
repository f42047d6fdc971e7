// SPDX-License-Identifier: Apache-2.0
// RingHops: the rings of one host as cycles through numbered nodes, and what each hop takes of which links,
// in whole numbers: what a search needs to know. Nodes are the host's GPUs; if the rings lead on to other
// hosts, node 0 is the rest of the world, which a ring enters and leaves by a NIC.
//
// Links that limit nothing more than another does are left out: on a machine with NVSwitches a row for each
// GPU and direction is left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/topology_graph.h"
#include "link_weights.h"
#include "ring_routes.h"

namespace rondo {

/// How much of a row one unit of a ring takes.
struct RowUse {
  int row = 0;
  int64_t amount = 1;
};

/// A way to make a hop.
struct RingHop {
  std::vector<RowUse> uses;  // by row
  int nic = -1;              // by which it enters or leaves the host; -1: it does not
  int network = -1;
};

class RingHops {
 public:
  /// `gpus` are those of one host.
  RingHops(const TopologyGraph& graph, std::span<const int> gpus, const RingRoutes& routes,
           bool leads_to_other_hosts, ThroughGpus through_gpus);

  int nodes() const { return nodes_; }
  /// By row: what all rings together may take, in kB/s.
  const std::vector<int64_t>& capacities() const { return capacities_; }
  /// Ways from a node to another; empty: there are none.
  const std::vector<RingHop>& between(int from, int to) const { return hops_[index(from, to)]; }
  /// That rings may go by, ascending; {-1}: they stay on this host.
  const std::vector<int>& networks() const { return networks_; }

 private:
  size_t index(int from, int to) const {
    return static_cast<size_t>(from) * static_cast<size_t>(nodes_) + static_cast<size_t>(to);
  }

  int nodes_;
  std::vector<int64_t> capacities_;
  std::vector<std::vector<RingHop>> hops_;
  std::vector<int> networks_;
};

}  // namespace rondo
