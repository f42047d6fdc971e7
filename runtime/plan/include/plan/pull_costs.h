// SPDX-License-Identifier: Apache-2.0
// The cost of calls whose ranks read from what each posts in memory that all see. All ranks compute the same.
// Pure functions.
#pragma once

#include <optional>

#include "base/cost_table.h"
#include "plan/executor.h"

namespace rondo {

/// The longest vector that is read so. `share_cpus`: whether the ranks outnumber their CPUs.
size_t max_pulled_bytes(CollectiveKind kind, bool share_cpus);

struct PullCost {
  double round_us = 0;
  double us_per_byte = 0;  // that a rank reads
  double ranks_per_cpu = 1;
};

/// `ranks_per_cpu`: at least 1.
PullCost pull_cost(const CostTable& costs, int nranks, double ranks_per_cpu);

double predicted_pull_us(const Algorithm& algorithm, const Call& call, const Shape& shape,
                         const PullCost& pull);

/// The calls that are made so, and their cost.
struct PullTerms {
  std::optional<size_t> requested_bytes;  // the longest vector, instead of max_pulled_bytes()
  PullCost cost;
  bool lines_move = false;  // see topology/cache.h
};

/// The executor of such calls, without prepare().
Executor shm_pull_row(const PullTerms& terms);

}  // namespace rondo
