// SPDX-License-Identifier: Apache-2.0
// Stamp: metadata that a rank writes beside data for a peer's kernel. With it the peer detects a mismatched
// call before touching the data, and locates the data. Plain data, in memory that both devices access.
#pragma once

#include <cstdint>

#include "base/signature.h"

namespace rondo {

struct alignas(64) Stamp {
  Signature signature;  // its count: elements of this pair
  uint64_t rank = 0;    // the writer
  uint64_t data = 0;    // the data's address for the reader's device; 0: the data is staged
};
static_assert(sizeof(Stamp) == 64);

/// A kernel's report to its host that a peer makes a different call. The first report is kept.
struct MismatchNote {
  uint64_t noted = 0;  // atomic: 1 once the fields below are written
  uint64_t peer = 0;
  Signature own;
  Signature found;
};

}  // namespace rondo
