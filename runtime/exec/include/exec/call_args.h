// SPDX-License-Identifier: Apache-2.0
// CallArgs: what a call of a plan is bound to, for the executors on host memory; and fold(), by which they
// combine the operands of a Step. Any thread.
#pragma once

#include <span>

#include "base/element.h"
#include "base/reduction.h"
#include "schedule/layout.h"

namespace rondo {

/// One call's addresses, lengths, type and operation.
struct CallArgs {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;  // scratch_bytes() long
  bool in_place = false;
  Layout layout;
  CallType type;
  CallOp op;
  int nranks = 1;
  bool reduces = false;
  bool is_read = true;   // peers may read messages directly from this process's memory
  bool streams = false;  // not in place: results that no Step reads again are written past the caches
  Signature signature;
};

/// The scratch memory that a call of this Schedule needs.
inline size_t scratch_bytes(const Schedule& schedule, const Layout& layout) {
  return static_cast<size_t>(schedule.scratch_chunks) * layout.scratch_chunk_bytes;
}

struct FoldArgs {
  std::byte* out = nullptr;
  std::span<const void* const> operands;  // combined from left to right; `out` may be any of them
  size_t bytes = 0;
  int scaled = -1;  // the operand that a pre-multiplied sum scales
  int divisor = 1;  // avg: the number of ranks, if this is the last combination
  /// Writes the result past the caches to `out`, which is not one of the operands; ignored for a user's
  /// function.
  bool streams = false;
};

/// With a built-in kernel or a user's function: out = operands[0] (op) operands[1] (op) ...; with one
/// operand, a copy.
void fold(const CallType& type, const CallOp& op, const FoldArgs& args);

}  // namespace rondo
