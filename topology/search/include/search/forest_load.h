// SPDX-License-Identifier: Apache-2.0
// What a forest makes the links of a machine carry, from the trees and the graph alone: how the search's own
// figures are checked, and what reports print. Pure functions: any thread.
#pragma once

#include <vector>

#include "base/status.h"
#include "graph/topology_graph.h"
#include "limit/rational.h"
#include "search/forest.h"

namespace rondo {

struct ForestLoad {
  std::vector<Rational> link_weights;  // by link: of the trees that cross it
  Rational scale;                      // s/kB: the largest weight / kBps
  Rational bus_kBps;                   // (n - 1) k / scale; 0: a single GPU
  std::vector<int> busiest;            // links with that largest quotient
};

/// InternalError, with what is wrong, if it is not a forest of this graph: trees that do not reach every rank
/// from their root, weights that do not add up to k a root, routes that are not joined links of the graph
/// from parent to child, or lead through a GPU.
Result<ForestLoad> forest_load(const TopologyGraph& graph, const Forest& forest);

}  // namespace rondo
