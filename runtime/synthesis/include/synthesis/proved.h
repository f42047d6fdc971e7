// SPDX-License-Identifier: Apache-2.0
// Algorithms made at run time: what the rows of the table have by formulas and tests, they get from their
// Schedules. Any thread.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace rondo {

/// Whether Schedules of all ranks verify with that many slots, also if chunks end in different tiles;
/// Unsupported if there are too many of them to tell in time.
Status prove(const Shape& shape, const std::vector<Schedule>& ranks, int slots, bool in_place);

/// `algorithm` without cost, for `nranks` ranks: supports() is true only for shapes whose Schedules verify,
/// which is logged otherwise; cost() is counted and simulated; content is a hash of the Schedules
/// of all roots. Proof and cost are computed once for each root and form, when first needed. `slots` and
/// `in_place` say what has to verify. `is_verified`: the Schedules of root 0, unless blocks vary, did
/// already.
Algorithm proved(Algorithm algorithm, int nranks, bool is_verified = false);

}  // namespace rondo
