// SPDX-License-Identifier: Apache-2.0
// The log line, at RONDO_LOG=info, about a new communicator: its rank and host, transports, interfaces and
// GPU.
#pragma once

#include <cstdint>

#include "comm/communicator.h"

namespace rondo::api {

/// `began_ns`: now_ns() at the start of the call that created it.
void announce(const Communicator& made, int64_t began_ns);

}  // namespace rondo::api
