// SPDX-License-Identifier: Apache-2.0
// Blocks of a GPU, all in one launch. All memory that they use must be accessible to the device.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <vector>

#include "program.h"

namespace rondo::device {

class Blocks {
 public:
  /// Adds a block that executes a lane of the call. All blocks get the largest thread count requested.
  void add(int /*device*/, uint32_t threads, const BlockProgram& program, const CallParams& call,
           uint32_t lane) {
    threads_ = threads > threads_ ? threads : threads_;
    jobs_.push_back({&program, &call, lane});
  }
  /// Runs all blocks to completion; throws CUDA's error string on failure.
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
