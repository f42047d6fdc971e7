// SPDX-License-Identifier: Apache-2.0
// UsableLinks: what the links of a TopologyGraph can contribute to a collective of some of its GPUs. Bounds
// and plans start from it. Pure functions: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/topology_graph.h"

namespace rondo {

struct UsableLinks {
  std::vector<int64_t> kBps;    // by link of the graph; 0: not used
  std::vector<int> trimmed_by;  // by link: the node that trim_switches() trimmed it for; -1: none
};

/// Without links of other GPUs, which forward nothing; of switches, NUMA nodes and NICs through which no path
/// leads; and, if all the GPUs are of one host, of networks and other hosts.
UsableLinks usable_links(const TopologyGraph& graph, std::span<const int> gpus);

/// Makes every switch, NUMA node, NIC and network receive as much as it sends. They neither copy nor combine
/// data, so a plan uses both sides equally, and cuts bound what plans reach only if the sides are equal.
/// Links from nodes that send too much to nodes that receive too much are trimmed first. Then the wider side
/// of each node loses the same share of all its links, to whole kB/s. Returns whether anything was trimmed.
bool trim_switches(const TopologyGraph& graph, UsableLinks& links);

}  // namespace rondo
