// Tickets: how the host learns in which order streams came to something, replays of graphs among them. Any
// thread.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "gpu/stream.h"

namespace rondo {

/// When the stream comes to it, `word` (of the host, where the device sees it) gets the next number: 1, 2,
/// ... `counter`: those of a device draw from it, in its memory, 0 at first. The device's context is current.
Status draw_ticket(int device, gpu::Stream stream, uint64_t* counter, uint64_t* word);

}  // namespace rondo
