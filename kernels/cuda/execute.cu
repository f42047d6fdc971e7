#include "execute.h"

namespace rondo::device {
namespace {

constexpr int kThreads = 512;

/// A block for each lane.
__global__ void __launch_bounds__(kThreads)
    execute_kernel(const __grid_constant__ Program program, const __grid_constant__ Call call) {
  __shared__ Shared shared;
  Block block;
  LaneRun(program, blockIdx.x, call, block, shared).run();
}

}  // namespace

int launch_execute(const Program& program, const Call& call, void* stream) {
  Program program_copy = program;
  Call call_copy = call;
  void* arguments[] = {&program_copy, &call_copy};
  return cudaLaunchCooperativeKernel(execute_kernel, dim3(program.nlanes), dim3(kThreads), arguments, 0,
                                     static_cast<cudaStream_t>(stream));
}

}  // namespace rondo::device
