// SPDX-License-Identifier: Apache-2.0
// What the cost of a transport's messages depends on. Plain data, the same at all ranks.
#pragma once

#include <cstddef>

#include "base/cost_table.h"

namespace rondo {

/// What the cost of a link depends on.
struct LinkLoad {
  CostTable costs = {};
  bool same_host = true;
  double ranks_per_cpu = 1;  // on the host where it is most; at least 1
  size_t ranks_of_host = 1;  // likewise
  double rate_Gbps = 0;      // of the slowest rank's network; 0: unknown
};

/// Of every transport that copies through memory which both ranks see.
LinkCost shared_memory_cost(const LinkLoad& load);

}  // namespace rondo
