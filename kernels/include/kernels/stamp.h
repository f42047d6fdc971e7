// Stamp: what a rank writes beside data that it leaves for a peer's kernel, so that the peer finds a call
// other than its own before it touches the data, and finds the data. Plain data, in memory that both devices
// reach.
#pragma once

#include <cstdint>

#include "base/signature.h"

namespace rondo {

struct alignas(64) Stamp {
  Signature signature;  // its count: elements of this pair
  uint64_t rank = 0;    // who wrote it
  uint64_t data = 0;    // where the reader's device sees the data; 0: where it is staged
};
static_assert(sizeof(Stamp) == 64);

/// Where a kernel notes that a peer makes another call, in memory that its host reads. The first note stays.
struct MismatchNote {
  uint64_t noted = 0;  // atomic: 1 once what follows is written
  uint64_t peer = 0;
  Signature own;
  Signature found;
};

}  // namespace rondo
