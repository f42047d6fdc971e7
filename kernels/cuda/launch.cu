#include "launch.h"

#include "fold.h"

namespace rondo::device {
namespace {

constexpr int kThreads = 512;
constexpr uint64_t kLeastElements = 1024;  // of a block: below, starting it costs more than it brings

__global__ void __launch_bounds__(kThreads) fold_kernel(const __grid_constant__ FoldLaunch launch) {
  void* const out = launch.out;
  FoldTask task;
  task.sources = launch.sources;
  task.nsources = launch.nsources;
  task.outs = &out;
  task.count = launch.count;
  task.type = static_cast<ElementType>(launch.type);
  task.op = static_cast<Reduction>(launch.op);
  task.divisor = launch.divisor;
  task.scaled_source = launch.scaled_source;
  memcpy(task.scalar, launch.scalar, sizeof task.scalar);
  fold(task, {blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x});
}

/// The blocks that the current device runs at once.
cudaError_t resident_blocks(int& blocks) {
  int device = 0;
  int processors = 0;
  int each = 0;
  if (const auto error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const auto error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
      error != cudaSuccess)
    return error;
  if (const auto error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, fold_kernel, kThreads, 0);
      error != cudaSuccess)
    return error;
  blocks = processors * each;
  return cudaSuccess;
}

}  // namespace

int launch_fold(const FoldLaunch& launch, void* stream) {
  if (launch.count == 0) return cudaSuccess;
  int most = 0;
  if (const auto error = resident_blocks(most); error != cudaSuccess) return error;
  const uint64_t wanted = (launch.count + kLeastElements - 1) / kLeastElements;
  const auto blocks = static_cast<unsigned>(wanted < static_cast<uint64_t>(most) ? wanted : most);
  fold_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(launch);
  return cudaGetLastError();
}

}  // namespace rondo::device
