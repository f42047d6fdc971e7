// SPDX-License-Identifier: Apache-2.0
// Launches of Rondo's kernels through the driver, for its tests.
#pragma once

#include <cuda.h>

#include <array>
#include <vector>

#include "kernels.h"

namespace rondo {

/// Loads a kernel in the current context.
CUfunction find_function(const char* name);

/// out[i] = in[i] + in[i], of floats.
device::FoldList doubling(CUdeviceptr out, CUdeviceptr in, size_t count);
CUresult launch(CUfunction function, CUstream stream, device::FoldList list);

/// A kernel that runs until told to stop.
class SpinningKernel {
 public:
  explicit SpinningKernel(uint32_t blocks = 2);
  CUresult launch(CUfunction execute, CUstream stream);
  void wait_until_it_runs() const;
  void stop();

 private:
  uint32_t blocks_;
  std::array<Step, 2> steps_;  // two lanes, each waiting for the other
  std::array<device::ProgramLane, 2> lanes_;
  std::vector<uint64_t> progress_;
  device::BlockProgram program_;
  device::CallHealth health_;
};

}  // namespace rondo
