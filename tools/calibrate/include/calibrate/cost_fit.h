// SPDX-License-Identifier: Apache-2.0
// The costs of messages within a host (base/cost_table.h) that explain measured times of calls best, by the
// formulas with which the library predicts them. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "algorithms/algorithm.h"
#include "base/cost_table.h"
#include "call/call.h"
#include "transports/transport.h"

namespace rondo::calibrate {

struct MeasuredCandidate {
  const Algorithm* algorithm = nullptr;
  bool is_pulled = false;  // in memory that all ranks see, and not over connections
  double us = 0;
};

inline const char* executor_of(const MeasuredCandidate& candidate) {
  return candidate.is_pulled ? "shm_pull" : "connections";
}

/// The times of one call by everything that could carry it out.
struct MeasuredCell {
  Call call;
  int nranks = 0;
  double ranks_per_cpu = 1;
  const Transport* transport = nullptr;
  std::vector<MeasuredCandidate> candidates;  // not empty; in the table's order
};

/// Figures that the times say nothing about stay as they are.
CostTable fitted(const CostTable& begin, const std::vector<MeasuredCell>& cells);

/// How good predictions and choices are by built-in and by fitted costs, and the figures of both, for human
/// readers.
std::string comparison(const CostTable& fitted, const std::vector<MeasuredCell>& cells);

/// Of at least one value.
double median(std::vector<double> values);

}  // namespace rondo::calibrate
