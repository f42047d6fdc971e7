// The device's executor as the host sees it: Programs in GPU memory, what one call of them is, and their
// launch. Any thread.
#pragma once

#include <span>

#include "../../cuda/program.h"
#include "base/status.h"
#include "gpu/stream.h"

namespace rondo {

/// One rank's call.
struct DeviceCall {
  const device::Program* program = nullptr;  // the device's
  uint32_t blocks = 0;                       // a lane of a channel each
  device::Call call;
};

/// The blocks that a device runs at the same time.
Result<uint32_t> resident_blocks(int device);

/// Calls of ranks that share a device, in one launch, whose blocks wait for one another and for other
/// devices. Unsupported where the device cannot run all of them at the same time; the device's context is
/// current.
Status launch_calls(std::span<const DeviceCall* const> calls, int device, gpu::Stream stream);

}  // namespace rondo
