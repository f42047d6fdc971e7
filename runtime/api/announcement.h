// The line in the log, at RONDO_LOG=info, about a communicator that was made: who it is, and what it goes by.
#pragma once

#include <cstdint>

#include "comm/communicator.h"

namespace rondo::api {

/// `began_ns`: when the caller asked for it, by now_ns().
void announce(const Communicator& made, int64_t began_ns);

}  // namespace rondo::api
