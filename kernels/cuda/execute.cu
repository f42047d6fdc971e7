#include "execute.h"

namespace rondo::device {
namespace {

constexpr int kMostThreads = 512;

__global__ void __launch_bounds__(kMostThreads) execute_kernel(const Job* jobs) {
  __shared__ Shared shared;
  const Job& job = jobs[blockIdx.x];
  Block block;
  LaneRun(*job.program, job.lane, *job.call, block, shared).run();
}

}  // namespace

int launch_execute(const Job* jobs, uint32_t njobs, uint32_t threads, void* stream) {
  if (njobs == 0) return cudaSuccess;
  void* arguments[] = {&jobs};
  return cudaLaunchCooperativeKernel(execute_kernel, dim3(njobs), dim3(threads), arguments, 0,
                                     static_cast<cudaStream_t>(stream));
}

}  // namespace rondo::device
