// SPDX-License-Identifier: Apache-2.0
// Turns a caller's arguments into a Call: looks up types and operations, copies counts and offsets, and
// checks every argument before anything is done.
#pragma once

#include "call/call.h"

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

}  // namespace rondo
