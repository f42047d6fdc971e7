// SPDX-License-Identifier: Apache-2.0
// CallArgs: what a call of a plan is bound to. Plain data.
#pragma once

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

}  // namespace rondo
