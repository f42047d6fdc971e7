// SPDX-License-Identifier: Apache-2.0
// Scan by recursive doubling, shared by scan and exscan. Pure function: any thread.
#pragma once

#include "schedule/schedule.h"

namespace rondo {

/// Adds this rank's Steps of an inclusive scan over the ranks `first` to n - 1 into output[0]. `start` makes
/// the own operand available in `operand`.
void add_doubling_scan(Schedule& schedule, int first, const Move& start, Ref operand);

}  // namespace rondo
