// SPDX-License-Identifier: Apache-2.0
// LinkCost: what messages over a transport cost, for choosing between algorithms, not as a promise. Plain
// data, the same at all ranks.
#pragma once

#include <cstddef>

namespace rondo {

struct LinkCost {
  double latency_us = 1;
  double us_per_byte = 2e-4;
  double us_per_message = 0;      // CPU time of the sender or receiver
  double us_per_folded_byte = 0;  // CPU time of the rank that reduces it; 0: included in us_per_byte
  double one_way = 1;  // factor on us_per_byte and us_per_message if a rank does not send and receive at once
  double ranks_per_cpu = 1;     // if everything except latency is work of CPUs that ranks share
  double us_per_cold_byte = 0;  // added for a byte that is not in the caches
  double cached_bytes = 0;      // of all ranks' vectors together; the rest is cold
  bool runs_ahead = false;      // messages are buffered for peers that do not wait for them yet
};

/// What the cost of a link depends on.
struct LinkLoad {
  bool same_host = true;
  double ranks_per_cpu = 1;  // on the host where it is most; at least 1
  size_t ranks_of_host = 1;  // likewise
  double rate_Gbps = 0;      // of the slowest rank's network; 0: unknown
};

/// If ranks outnumber CPUs: the time until a rank that shares its CPU with others has run.
constexpr double kTurn_us = 0.7;

/// Of every transport that copies through memory which both ranks see.
LinkCost shared_memory_cost(const LinkLoad& load);

}  // namespace rondo
