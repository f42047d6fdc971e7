// Placement: whether a call is made by the CPU or by the rank's GPU, which its buffers and its stream say.
#pragma once

#include "comm/call.h"
#include "gpu/memory.h"

namespace rondo {

/// Where a pointer leads, for a rank that uses this device. One without (-1) goes on where the process has
/// broken a GPU.
Result<gpu::Place> place_for(const void* pointer, int device);

/// Fills in Call::place. A call is the GPU's where a buffer lies in GPU memory or it is put on a CUDA stream,
/// and, on a rank that has a GPU, where nothing says otherwise. InvalidArgument or Unsupported, with the
/// argument's name, for memory and streams that the call cannot use; SystemError where the GPU has failed or
/// was reset, which the communicator does not outlive. `device`: the rank's, -1: none.
///
/// `shared`: other GPUs use the buffers as well.
Status place(Call& call, int rank, int nranks, int device, bool shared);

/// The same for a send or receive.
Status place_message(CallPlace& place, const Extent& buffer, int device);

}  // namespace rondo
