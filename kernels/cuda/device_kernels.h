// The kernels that are built into this library, ready on a device. Any thread.
#pragma once

#include "gpu/launch.h"

namespace rondo {

enum class DeviceKernel { FoldList, Execute, Ticket };

struct LoadedKernel {
  gpu::Kernel kernel;
  uint32_t resident_blocks = 0;  // of kMostThreads, that the device runs at once
};

/// Brings all kernels onto the device where that was not done yet.
Result<LoadedKernel> device_kernel(DeviceKernel which, int device);

}  // namespace rondo
