// SPDX-License-Identifier: Apache-2.0
// Cuts in words. Internal to the bound.
#pragma once

#include <span>
#include <string>

#include "cut.h"
#include "graph/topology_graph.h"
#include "limit/usable_links.h"

namespace rondo {

/// What `leaving`, the links that leave S, are: how many of which class, from where to where, and their
/// bandwidth together.
std::string describe_cut(const TopologyGraph& graph, const UsableLinks& links, std::span<const int> gpus,
                         const RatioCut& cut, std::span<const int> leaving);

}  // namespace rondo
