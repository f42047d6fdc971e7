// SPDX-License-Identifier: Apache-2.0
// FoldList: several folds of one call, as passed to a kernel. Plain data, copied at the launch.
#pragma once

#include <cstdint>

#include "base/element.h"
#include "base/reduction.h"
#include "kernels/stamp.h"

namespace rondo::device {

/// One element of any type.
struct alignas(16) Scalar {
  unsigned char bytes[16];
};

/// Stamps that a launch writes, or checks before doing anything else (stamps.h).
struct StampList {
  static constexpr uint32_t kMaxStamps = 64;
  static constexpr uint8_t kNoPointer = 0xFF;

  struct ListedStamp {
    Stamp* stamp;
    uint64_t count;  // of the signature
  };
  Signature signature;  // except its count
  uint64_t rank;        // this rank
  uint64_t* ticks;      // counts launches, so that the host sees progress; null: not needed
  MismatchNote* note;
  const uint64_t* stopped;  // nonzero: the host has given the call up, and stamped addresses may be stale
  uint32_t nstamps;
  uint32_t writes;  // 0: checks
  ListedStamp entries[kMaxStamps];
  /// By stamp, an index into the launch's pointers: the address written into it, or the one it may replace.
  uint8_t pointers[kMaxStamps];
};

/// Independent folds. Each becomes a FoldTask (fold.h).
struct FoldList {
  static constexpr uint32_t kMaxFolds = 32;
  static constexpr uint32_t kMaxPointers = 128;
  static constexpr uint32_t kMaxSources = 64;  // per fold

  struct Fold {
    uint64_t count;    // elements
    uint64_t scaled;   // bit k: source k is multiplied by scalars[k]
    uint16_t sources;  // index of the first in `pointers`
    uint16_t nsources;
    uint16_t outs;  // likewise
    uint16_t nouts;
  };
  ElementType type;
  Reduction op;
  int32_t divisor;
  uint32_t nfolds;
  uint32_t npointers;
  Fold folds[kMaxFolds];
  void* pointers[kMaxPointers];
  Scalar scalars[kMaxSources];
  StampList stamps;
};
static_assert(sizeof(FoldList) <= 4096, "what a launch can take on every GPU");

}  // namespace rondo::device
