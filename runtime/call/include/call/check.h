// SPDX-License-Identifier: Apache-2.0
// Turns a caller's arguments into a Call before anything is done: looks up types and operations, copies
// counts and offsets, checks every argument, and decides whether the CPU or the rank's GPU makes it. Any
// thread.
#pragma once

#include "call/call.h"
#include "gpu/memory.h"

namespace rondo {

/// A collective as its caller requested it, unchecked.
struct CallRequest {
  /// Counts and offsets, by rank, of a _v form's buffer; null offsets: the blocks are contiguous.
  struct BlockArrays {
    const size_t* counts = nullptr;
    const size_t* offsets = nullptr;
  };
  struct Varying {
    BlockArrays send;
    BlockArrays recv;
  };
  CollectiveKind kind = CollectiveKind::Barrier;
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;
  int type = 0;
  int op = kNoOp;  // if the kind reduces
  int root = 0;
  const Varying* varying = nullptr;  // non-null for a _v form
  CallPlace place = {};

  static constexpr int kNoOp = 0;

  bool is_built_in() const { return type < kElementTypes && op < kReductions; }
};

/// On failure, InvalidArgument that names the argument, its value and what is allowed.
Result<Call> checked(const CallRequest& request, int rank, int nranks);
/// The same for a call that is not a _v form and whose buffers do not matter.
Result<Call> checked_without_buffers(const CallRequest& request, int nranks);

/// The memory that a pointer points to, for a rank that uses this device. A rank without a device (-1)
/// ignores errors, so it works on after a GPU of the process has failed.
Result<gpu::Place> place_for(const void* pointer, int device);

/// Decides from a call's buffers and stream whether the CPU or the rank's GPU makes it, and fills in
/// Call::place. The GPU carries out a call if a buffer is GPU memory, if the call is on a CUDA
/// stream, or if the rank has a GPU and no buffer is host memory. InvalidArgument or Unsupported, with the
/// argument's name, for memory and streams that the call cannot use; SystemError if the GPU has failed or was
/// reset, which the communicator does not survive. `device`: the rank's, -1: none.
/// `shared`: other GPUs use the buffers as well.
Status place(Call& call, int rank, int nranks, int device, bool shared);

/// The same for a send or receive.
Status place_message(CallPlace& place, const Extent& buffer, int device);

}  // namespace rondo
