// SPDX-License-Identifier: Apache-2.0
// The kernel with which rondo-perf checks results, in a separate image (kernels.h).
#include "compare.h"
#include "kernels.h"

namespace rondo::device {

extern "C" __global__ void __launch_bounds__(kMaxThreads)
    rondo_compare(const __grid_constant__ Comparison task) {
  compare(task, uint64_t{blockIdx.x} * blockDim.x + threadIdx.x, uint64_t{gridDim.x} * blockDim.x);
}

}  // namespace rondo::device
