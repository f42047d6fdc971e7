// SPDX-License-Identifier: Apache-2.0
// Routes: from trees of logical edges to trees whose edges know the links that they cross.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compact_graph.h"
#include "pack_trees.h"
#include "search/forest.h"
#include "split_off.h"

namespace rondo {

/// The trees with their routes, by root. Nothing: equal switches, taken for one, cannot carry the trees in
/// `scale` seconds.
std::optional<std::vector<Tree>> with_routes(std::span<const PackedTree> packed, LogicalGraph logical,
                                             const TopologyGraph& graph, const UsableLinks& usable,
                                             const CompactGraph& compact, const Rational& scale);

}  // namespace rondo
