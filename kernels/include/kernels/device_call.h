// SPDX-License-Identifier: Apache-2.0
// The host side of the device executor: launches calls of programs that reside in GPU memory. Thread-safe.
#pragma once

#include <span>

#include "../../cuda/program.h"
#include "base/status.h"
#include "gpu/stream.h"

namespace rondo {

/// One rank's call.
struct DeviceCall {
  const device::BlockProgram* program = nullptr;  // in device memory
  uint32_t blocks = 0;                            // one per lane of each channel
  device::CallParams call;
};

/// Max blocks that a device runs concurrently.
Result<uint32_t> resident_blocks(int device);

/// Launches the calls of ranks that share a device together. Their blocks wait for one another and for other
/// devices, so Unsupported if the device cannot run all of them concurrently. The device's context must be
/// current.
Status launch_calls(std::span<const DeviceCall* const> calls, int device, gpu::Stream stream);

}  // namespace rondo
