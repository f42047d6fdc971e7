// SPDX-License-Identifier: Apache-2.0
// Algorithms made of what the search found for a machine.
#pragma once

#include <memory>

#include "algorithms/algorithm.h"
#include "search/forest.h"

namespace rondo {

inline constexpr const char* kForest = "forest";

/// Whether the collective has the row kForest: all but scans and all-to-all.
bool has_forest(CollectiveKind kind);

/// The row kForest: see forest_schedule.h. Any thread.
Algorithm forest_algorithm(CollectiveKind kind, std::shared_ptr<const Forest> forest);

}  // namespace rondo
