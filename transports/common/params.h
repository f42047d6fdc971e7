// What all transports check about ConnectionParams. Pure functions.
#pragma once

#include "base/status.h"
#include "transports/transport.h"

namespace rondo {

/// InvalidArgument where a number is out of its range.
Status check_params(const ConnectionParams& params);

/// The numbers that both ends must have alike, as they stand in messages between the ends.
struct AgreedParams {
  uint64_t slot_bytes = 0;
  uint64_t slots = 0;
  uint64_t sockets = 0;  // 0: does not matter to the transport

  friend bool operator==(const AgreedParams&, const AgreedParams&) = default;
};

AgreedParams agreed(const ConnectionParams& params);

/// Mismatch that names both values where the two ends differ.
Status compare(const AgreedParams& own, const AgreedParams& peers);

}  // namespace rondo
