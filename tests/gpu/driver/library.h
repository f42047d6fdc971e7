// Libraries of kernels. Guarded by Driver::mutex.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

#include "host_kernels.h"

struct CUlib_st {
  std::vector<CUkernel> kernels;  // that were asked for
};

struct CUkern_st {
  const rondo::device::HostKernel* kernel;
};

/// A kernel in a context.
struct CUfunc_st {
  const rondo::device::HostKernel* kernel;
  CUcontext context;
  int shared_bytes = 0;  // that a launch may ask for
};

struct CUlinkState_st {
  unsigned max_registers = 0;  // of a thread; 0: any
  char* error_log = nullptr;   // the user's
  size_t error_log_bytes = 0;
  std::vector<std::string> parts;
};
