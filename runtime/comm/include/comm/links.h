// Links: how a communicator's ranks are joined, as far as the choice of an algorithm goes. Plain data, the
// same at all ranks.
#pragma once

namespace rondo {

/// What a message costs on the slowest transport between some ranks; for choosing, not for promising.
struct LinkCost {
  double latency_us = 1;
  double us_per_byte = 2e-4;
  double us_per_message = 0;      // of the time of the rank that sends or receives it
  double us_per_folded_byte = 0;  // of the time of the rank that adds it; 0: us_per_byte holds that as well
  double one_way = 1;  // of us_per_byte and us_per_message: where a rank does not send and receive at once
  double ranks_per_cpu = 1;     // where all but the latency is work of CPUs that ranks share
  double us_per_cold_byte = 0;  // more, of a byte that does not come from the caches
  double cached_bytes = 0;      // of the vectors of all ranks; what is beyond is cold
  bool runs_ahead = false;      // what is sent is kept for peers that do not wait for it yet
};

struct Links {
  int nranks = 1;
  LinkCost cost;       // between any two
  int group = 1;       // see Shape
  LinkCost near_cost;  // between two of a group
};

}  // namespace rondo
