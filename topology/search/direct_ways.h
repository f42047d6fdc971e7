// SPDX-License-Identifier: Apache-2.0
// The forest of direct ways: one tree a root. Each GPU sends to each other straight through every NVSwitch
// that joins the two, in shares that make links equally busy:
//
//   gpu0 - - nvswitch0 - - gpu1      gpu0 has no link to nvswitch1: gpu1 and gpu2 exchange by nvswitch1 more
//            nvswitch1 - - gpu1      than by nvswitch0, since gpu0 needs both of their links to nvswitch0.
//
// Where two GPUs have no NVSwitch in common, or too narrow ways, a third one passes the block on, the one
// whose links are the least busy. Close to the bound where NVSwitches join all GPUs, some links missing or
// not, and much faster found than any forest of a search.
#pragma once

#include <span>
#include <vector>

#include "graph/topology_graph.h"
#include "limit/usable_links.h"
#include "search/forest.h"

namespace rondo {

/// Nothing if NVSwitches do not lead from every GPU to all others, or a GPU has several links to one.
std::vector<Tree> direct_ways(const TopologyGraph& graph, std::span<const int> gpus,
                              const UsableLinks& usable);

}  // namespace rondo
