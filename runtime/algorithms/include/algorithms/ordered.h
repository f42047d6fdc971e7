// An algorithm over ranks that take its places in another order than that of their numbers, so that those
// that are near one another are neighbours in its tree or chain. Pure functions: any thread.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace rondo {

/// Whether ranks may take any place: no chunk of the kind belongs to a rank, and none are combined.
constexpr bool is_free_in_order(CollectiveKind kind) { return kind == CollectiveKind::Broadcast; }

/// The Schedule of `rank`, where order[p] is the rank in place p. Only for kinds that are free in it.
Schedule build_in_order(const Algorithm& algorithm, const Shape& shape, int rank,
                        const std::vector<int>& order);

}  // namespace rondo
