// SPDX-License-Identifier: Apache-2.0
// Schedules for ranks in another order than that of their numbers: an algorithm is built for places, and then
// each place gets a rank. Pure functions: any thread.
#pragma once

#include <span>

#include "schedule/schedule.h"

namespace rondo {

/// Whether a Schedule of this shape may be relabelled in any order: unless operands are combined in rank
/// order, or a Step moves several blocks, which would not be consecutive any more. `max_count`:
/// Algorithm::max_count().
inline bool may_relabel(const Shape& shape, int max_count) {
  return !shape.keeps_rank_order() && (max_count == 1 || !traits(shape.kind).has_blocks());
}

/// The place of a rank; order[p] is the rank in place p.
int place_in(std::span<const int> order, int rank);

/// `shape` as its places see it.
Shape by_places(const Shape& shape, std::span<const int> order);

/// `schedule` was built for a place and by_places(shape): the same for the rank in that place.
Schedule relabelled(const Shape& shape, Schedule schedule, std::span<const int> order);

}  // namespace rondo
