// SPDX-License-Identifier: Apache-2.0
// Placement: decides from a call's buffers and stream whether the CPU or the rank's GPU carries it out.
#pragma once

#include "call/call.h"
#include "gpu/memory.h"

namespace rondo {

/// The memory that a pointer points to, for a rank that uses this device. A rank without a device (-1)
/// ignores errors, so it works on after a GPU of the process has failed.
Result<gpu::Place> place_for(const void* pointer, int device);

/// Fills in Call::place. The GPU carries out a call if a buffer is GPU memory, if the call is on a CUDA
/// stream, or if the rank has a GPU and no buffer is host memory. InvalidArgument or Unsupported, with the
/// argument's name, for memory and streams that the call cannot use; SystemError if the GPU has failed or was
/// reset, which the communicator does not survive. `device`: the rank's, -1: none.
///
/// `shared`: other GPUs use the buffers as well.
Status place(Call& call, int rank, int nranks, int device, bool shared);

/// The same for a send or receive.
Status place_message(CallPlace& place, const Extent& buffer, int device);

}  // namespace rondo
