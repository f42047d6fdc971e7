// SPDX-License-Identifier: Apache-2.0
#include "transports/link_cost.h"

namespace rondo {

/// The cost is copying, by the ranks' own CPUs, half of it at each end.
LinkCost shared_memory_cost(const LinkLoad& load) {
  const double turns_us = load.ranks_per_cpu > 1 ? kTurn_us * static_cast<double>(load.ranks_of_host) : 0.15;
  return {turns_us, 4.5e-5, 0.05, 3.5e-5, 0.5, load.ranks_per_cpu};
}

/// Inside a host the ranks' own CPUs do all the work, which takes longer if ranks share them. A rank
/// that only sends or only receives does half of it, and a sender does not wait for receivers: the kernel
/// keeps what they have not taken yet. Bytes that do not come from the caches take more than twice as long.
/// Measured with 2, 4 and 8 ranks on two CPUs with 1 MiB of second level cache each.
LinkCost tcp_cost(const LinkLoad& load) {
  if (!load.same_host) return {.latency_us = 15, .us_per_byte = 5e-4, .us_per_message = 4};
  return {.latency_us = 1,
          .us_per_byte = 1.6e-4,
          .us_per_message = 6,
          .us_per_folded_byte = 0.8e-4,
          .one_way = 0.5,
          .ranks_per_cpu = load.ranks_per_cpu,
          .us_per_cold_byte = 2e-4,
          .cached_bytes = 2 << 20,
          .runs_ahead = true};
}

}  // namespace rondo
