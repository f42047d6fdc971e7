// SPDX-License-Identifier: Apache-2.0
// Tickets: tell the host in which order streams reached a point, including graph replays. Thread-safe.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "gpu/stream.h"

namespace rondo {

/// When the stream reaches this point, stores the next number (1, 2, ...) in `word`, which is
/// device-accessible host memory. `counter`, in device memory and initially 0, is shared by a device's
/// tickets. The device's context must be current.
Status draw_ticket(int device, gpu::Stream stream, uint64_t* counter, uint64_t* word);

}  // namespace rondo
