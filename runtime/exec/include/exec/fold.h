// SPDX-License-Identifier: Apache-2.0
// Fold: combines the operands of a Step, with a built-in kernel or a user's function. Any thread.
#pragma once

#include <span>

#include "base/element.h"
#include "base/reduction.h"

namespace rondo {

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

/// out = operands[0] (op) operands[1] (op) ...; with one operand, a copy.
void fold(const CallType& type, const CallOp& op, const FoldArgs& args);

}  // namespace rondo
