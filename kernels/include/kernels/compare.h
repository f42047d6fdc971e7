// SPDX-License-Identifier: Apache-2.0
// Compares device-accessible memory on the device. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "gpu/stream.h"

namespace rondo {

/// When two elements count as equal.
struct ElementEquality {
  uint32_t part_bytes = 1;   // 1, 2, 4 or 8; also the memory's alignment
  uint32_t parts = 1;        // per element; complex numbers have two
  bool zeros_alike = false;  // parts are floats, and +0 equals -0
};

/// Enqueues a kernel that adds to *different how many of the `count` elements at `found` differ from those at
/// `expected`. `different` is device-accessible; the host reads it after the stream's work. The device's
/// context must be current. Unsupported if the build has no kernels.
Status compare(const void* found, const void* expected, size_t count, const ElementEquality& equality,
               uint64_t* different, int device, gpu::Stream stream);

}  // namespace rondo
