// SPDX-License-Identifier: Apache-2.0
// Checks of ConnectionParams shared by all transports. Pure functions.
#pragma once

#include "base/status.h"
#include "transports/transport.h"

namespace rondo {

/// InvalidArgument if a value is out of range.
Status check_params(const ConnectionParams& params);

/// The parameters that must match at both ends, as sent between them.
struct AgreedParams {
  uint64_t slot_bytes = 0;
  uint64_t slots = 0;
  uint64_t sockets = 0;  // 0: unused by the transport

  friend bool operator==(const AgreedParams&, const AgreedParams&) = default;
};

AgreedParams agreed(const ConnectionParams& params);

/// Mismatch that names both values if the two ends differ.
Status compare(const AgreedParams& own, const AgreedParams& peers);

}  // namespace rondo
