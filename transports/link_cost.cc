// SPDX-License-Identifier: Apache-2.0
#include "transports/link_cost.h"

namespace rondo {

/// The cost is copying, by the ranks' own CPUs, half of it at each end.
LinkCost shared_memory_cost(const LinkLoad& load) {
  const double turns_us = load.ranks_per_cpu > 1 ? kTurn_us * static_cast<double>(load.ranks_of_host) : 0.15;
  return {turns_us, 4.5e-5, 0.05, 3.5e-5, 0.5, load.ranks_per_cpu};
}

}  // namespace rondo
