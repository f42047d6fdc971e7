// SPDX-License-Identifier: Apache-2.0
// CompactGraph: what the links that are of use between some GPUs amount to, in as few nodes and edges as
// possible. GPUs come first, by rank; switches (everything else that forwards) follow. Links between the same
// two nodes are one edge. Switches with the same neighbours are one node, as the NVSwitches of a machine are:
//
//    gpu0     gpu1               gpu0   gpu1
//    | \      / |                  |     |
//    |  \    /  |                  |     |
//   5|  4\ /5   |4     becomes     9     9       bytes spread over the links of an edge
//    |   / \    |                  |     |
//    |  /   \   |                  |     |
//  NVSwitch  NVSwitch             NVSwitches
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/topology_graph.h"
#include "limit/usable_links.h"

namespace rondo {

struct CompactEdge {
  int from = 0;
  int to = 0;
  int64_t kBps = 0;
  std::vector<int> links;  // of the TopologyGraph
};

struct CompactGraph {
  int gpus = 0;
  int nodes = 0;
  std::vector<CompactEdge> edges;  // by from, then by to
  bool pooled = false;             // some node is several switches
};

/// `pool`: whether switches with the same neighbours become one node.
CompactGraph compact_graph(const TopologyGraph& graph, std::span<const int> gpus, const UsableLinks& usable,
                           bool pool);

}  // namespace rondo
