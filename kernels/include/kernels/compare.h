// Comparing memory that a device reaches, on that device. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "gpu/stream.h"

namespace rondo {

/// What makes two elements alike.
struct Likeness {
  uint32_t part_bytes = 1;   // 1, 2, 4 or 8, to which the memory is aligned
  uint32_t parts = 1;        // of an element; complex numbers have two
  bool zeros_alike = false;  // parts are floats, and a zero may have either sign
};

/// Adds to *different, which the device reaches and the host reads after the stream's work, how many of the
/// `count` elements at `found` are not like those at `expected`. In the stream's order; the device's context
/// is current. Unsupported where the build has no kernels.
Status compare(const void* found, const void* expected, size_t count, const Likeness& likeness,
               uint64_t* different, int device, gpu::Stream stream);

}  // namespace rondo
