// SPDX-License-Identifier: Apache-2.0
#include "transports/link_cost.h"

namespace rondo {

LinkCost shared_memory_cost(const LinkLoad& load) {
  LinkCost cost = load.costs[CostKind::SharedMemory];
  cost.ranks_per_cpu = load.ranks_per_cpu;
  // Observed only where ranks share CPUs: each CPU's caches then serve the slots of several ranks.
  if (load.ranks_per_cpu <= 1) cost.us_per_evicted_byte = 0;
  if (load.ranks_per_cpu > 1)
    cost.latency_us = load.costs[CostKind::Turn].latency_us * static_cast<double>(load.ranks_of_host);
  return cost;
}

}  // namespace rondo
