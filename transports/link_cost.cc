// SPDX-License-Identifier: Apache-2.0
#include "transports/link_cost.h"

namespace rondo {

LinkCost shared_memory_cost(const LinkLoad& load) {
  LinkCost cost = cost_of(CostKind::SharedMemory);
  cost.ranks_per_cpu = load.ranks_per_cpu;
  if (load.ranks_per_cpu > 1)
    cost.latency_us = cost_of(CostKind::Turn).latency_us * static_cast<double>(load.ranks_of_host);
  return cost;
}

}  // namespace rondo
