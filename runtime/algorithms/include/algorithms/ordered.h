// SPDX-License-Identifier: Apache-2.0
// Builds an algorithm over permuted ranks, so that ranks that are close to one another are neighbours in its
// tree or chain. Pure functions: any thread.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace rondo {

/// Whether ranks may be permuted: no chunk of the kind belongs to a rank, and none are combined.
constexpr bool is_free_in_order(CollectiveKind kind) { return kind == CollectiveKind::Broadcast; }

/// The Schedule of `rank`; order[p] is the rank in place p. Requires is_free_in_order().
Schedule build_in_order(const Algorithm& algorithm, const Shape& shape, int rank,
                        const std::vector<int>& order);

}  // namespace rondo
