// The kernels: what the host launches, by these names (kernels.h). Each takes one struct, by value.
#include "execute.h"
#include "kernels.h"

namespace rondo::device {

extern "C" __global__ void __launch_bounds__(kMostThreads)
    rondo_fold_list(const __grid_constant__ FoldList list) {
  fold_all(list, {blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x});
}

extern "C" __global__ void __launch_bounds__(kMostThreads)
    rondo_execute(const __grid_constant__ JobList list) {
  __shared__ Shared shared;
  const Job& job = list.jobs[blockIdx.x];
  Block block;
  LaneRun(*job.program, job.channel, job.lane, *job.call, block, shared).run();
}

}  // namespace rondo::device
