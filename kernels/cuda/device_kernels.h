// SPDX-License-Identifier: Apache-2.0
// Loads this library's built-in kernels onto devices. Thread-safe.
#pragma once

#include "gpu/launch.h"

namespace rondo {

enum class DeviceKernel { FoldList, Execute, Ticket };

struct LoadedKernel {
  gpu::Kernel kernel;
  uint32_t resident_blocks = 0;  // max concurrent blocks of kMaxThreads
};

/// Loads all kernels onto the device on first use.
Result<LoadedKernel> device_kernel(DeviceKernel which, int device);

}  // namespace rondo
