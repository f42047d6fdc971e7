// SPDX-License-Identifier: Apache-2.0
// The forest of shortest ways: one tree a root, in which each GPU receives over as few links as possible.
// Valid wherever the GPUs reach one another, in no time, and not balanced at all: what a search begins with.
#pragma once

#include <span>
#include <vector>

#include "graph/topology_graph.h"
#include "limit/usable_links.h"
#include "search/forest.h"

namespace rondo {

/// Trees that lack ranks which their root does not reach. Unsupported if they cross more
/// links together than fit into 64 MiB.
Result<std::vector<Tree>> shortest_ways(const TopologyGraph& graph, std::span<const int> gpus,
                                        const UsableLinks& usable);

}  // namespace rondo
