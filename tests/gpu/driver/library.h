// SPDX-License-Identifier: Apache-2.0
// Libraries of kernels. Guarded by Driver::mutex.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

#include "host_kernels.h"

struct CUlib_st {
  std::vector<CUkernel> kernels;  // requested so far
};

struct CUkern_st {
  const rondo::device::HostKernel* kernel;
};

/// A kernel in a context.
struct CUfunc_st {
  const rondo::device::HostKernel* kernel;
  CUcontext context;
  int shared_bytes = 0;  // dynamic limit of a launch
};

struct CUlinkState_st {
  unsigned max_registers = 0;  // per thread; 0: no limit
  char* error_log = nullptr;   // the user's
  size_t error_log_bytes = 0;
  std::vector<std::string> parts;
};
