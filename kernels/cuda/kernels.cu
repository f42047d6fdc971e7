// SPDX-License-Identifier: Apache-2.0
// The kernels that the host launches, by these names (kernels.h). Each takes one struct, by value.
#include "execute.h"
#include "kernels.h"
#include "stamps.h"
#include "ticket.h"

namespace rondo::device {

extern "C" __global__ void __launch_bounds__(kMaxThreads)
    rondo_fold_list(const __grid_constant__ FoldList list) {
  __shared__ void* shared[FoldList::kMaxPointers];
  Block block;
  void* const* const pointers = pass(list, blockIdx.x, block, shared);
  if (pointers == nullptr) return;
  fold_all(list, pointers, {blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x});
}

extern "C" __global__ void __launch_bounds__(kMaxThreads)
    rondo_execute(const __grid_constant__ CallList list) {
  __shared__ Shared shared;
  Block block;
  execute(list, blockIdx.x, block, shared);
}

extern "C" __global__ void rondo_ticket(const __grid_constant__ Ticket ticket) { draw(ticket); }

}  // namespace rondo::device
