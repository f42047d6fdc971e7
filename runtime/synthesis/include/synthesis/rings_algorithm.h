// SPDX-License-Identifier: Apache-2.0
// Rings over the links of a machine, as an algorithm.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace rondo {

inline constexpr const char* kRings = "rings";

/// Whether the collective has the row kRings: if the table has a ring or a chain for it.
bool has_rings(CollectiveKind kind);

/// The row kRings: the table's ring (all_reduce, all_gather, reduce_scatter) or chain (broadcast, reduce) in
/// several orders of the ranks at once, each with an equal share of every block. Any thread.
Algorithm rings_algorithm(CollectiveKind kind, std::vector<std::vector<int>> orders);

}  // namespace rondo
