// SPDX-License-Identifier: Apache-2.0
#include "kernels/device_call.h"

#include "base/error_kinds.h"
#include "device_kernels.h"
#include "kernels.h"

namespace rondo {

Result<uint32_t> resident_blocks(int device) {
  RONDO_TRY_ASSIGN(const auto kernel, device_kernel(DeviceKernel::Execute, device));
  return kernel.resident_blocks;
}

Status launch_calls(std::span<const DeviceCall* const> calls, int device, gpu::Stream stream) {
  RONDO_TRY_ASSIGN(const auto kernel, device_kernel(DeviceKernel::Execute, device));
  if (calls.size() > device::CallList::kMaxCalls)
    return error(ErrorKind::TooManyBlocks, "{} ranks of one process share GPU {}; at most {} can",
                 calls.size(), device, device::CallList::kMaxCalls);
  device::CallList list;
  uint32_t blocks = 0;
  for (const DeviceCall* one : calls) {
    list.calls[list.ncalls++] = {.program = one->program, .first_block = blocks, .call = one->call};
    blocks += one->blocks;
  }
  if (blocks > kernel.resident_blocks)
    return error(ErrorKind::TooManyBlocks, "the call needs {} blocks at the same time, and GPU {} runs {}",
                 blocks, device, kernel.resident_blocks);
  return gpu::launch(kernel.kernel, {.blocks = blocks, .threads = device::kMaxThreads, .cooperative = true},
                     stream, &list);
}

}  // namespace rondo
