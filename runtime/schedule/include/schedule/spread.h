// SPDX-License-Identifier: Apache-2.0
// spread() combines several Schedules into one. They become its channels: each handles its own share of every
// block, and may use links of its own. Pure functions: any thread.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace rondo {

/// Whether Schedules of this shape may share blocks: unless a Step moves several blocks, whose shares would
/// not be consecutive. `max_count`: Algorithm::max_count().
constexpr bool may_spread(const Shape& shape, int max_count) {
  return max_count == 1 || !traits(shape.kind).has_blocks();
}

/// Channel c of C takes the c-th share of each block: its part p is part c P + p of C P, if its blocks have
/// P. All are Schedules of the same rank for `shape`, with equally many parts; at every rank their order is
/// the same. Lanes and ports of the channels stay apart.
Schedule spread(const Shape& shape, const std::vector<Schedule>& channels);

}  // namespace rondo
