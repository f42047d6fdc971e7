// reduce() on the memory of a CUDA device. Any thread; the calling thread's current device.
#pragma once

#include "base/status.h"
#include "kernels/reduce.h"

namespace rondo {

/// As reduce(), bit for bit, in the order of `stream` (a cudaStream_t). Pointers are the device's, aligned to
/// their elements, complex ones to their parts; `scalar` is the host's and read now. InvalidArgument for more
/// than 64 sources; CUDA's own words where it refuses.
Status device_reduce(const ReduceArgs& args, void* stream);

}  // namespace rondo
