// Blocks of a GPU: one launch for all of them. Everything that they use is memory which the device can reach.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <vector>

#include "program.h"

namespace rondo::device {

class Blocks {
 public:
  /// A block that carries out a lane of the call. All blocks have as many threads as the one that has most.
  void add(int /*device*/, uint32_t threads, const Program& program, const Call& call, uint32_t lane) {
    threads_ = threads > threads_ ? threads : threads_;
    jobs_.push_back({&program, &call, lane});
  }
  /// Runs all of them to their ends; throws CUDA's words where that fails.
  void run() {
    auto outcome = static_cast<cudaError_t>(
        launch_execute(jobs_.data(), static_cast<uint32_t>(jobs_.size()), threads_, nullptr));
    if (outcome == cudaSuccess) outcome = cudaDeviceSynchronize();
    if (outcome != cudaSuccess) throw std::runtime_error(cudaGetErrorString(outcome));
  }

 private:
  uint32_t threads_ = 0;
  std::vector<Job> jobs_;
};

}  // namespace rondo::device
