// SPDX-License-Identifier: Apache-2.0
#include "device_kernels.h"
#include "kernels.h"
#include "kernels/ticket.h"

namespace rondo {

Status draw_ticket(int device, gpu::Stream stream, uint64_t* counter, uint64_t* word) {
  RONDO_TRY_ASSIGN(const auto kernel, device_kernel(DeviceKernel::Ticket, device));
  const device::Ticket ticket{.counter = counter, .word = word};
  return gpu::launch(kernel.kernel, {.blocks = 1, .threads = 1}, stream, &ticket);
}

}  // namespace rondo
