// FoldList: several folds of one call, as the host hands them to a kernel. Plain data, copied at the launch.
#pragma once

#include <cstdint>

#include "base/element.h"
#include "base/reduction.h"
#include "kernels/stamp.h"

namespace rondo::device {

/// One element, whatever its type.
struct alignas(16) Scalar {
  unsigned char bytes[16];
};

/// Stamps that a launch writes, or checks before it does anything else (stamps.h).
struct StampList {
  static constexpr uint32_t kMostStamps = 64;
  static constexpr uint8_t kNoPointer = 0xFF;

  struct Entry {
    Stamp* stamp;
    uint64_t count;  // of the signature
  };
  Signature signature;  // but its count
  uint64_t rank;        // own
  uint64_t* ticks;      // counts launches, so that the host sees that the call goes on; null: no need
  MismatchNote* note;
  const uint64_t* stopped;  // not 0: the host has given the call up, and what stamps point to may be gone
  uint32_t nstamps;
  uint32_t writes;  // 0: checks
  Entry entries[kMostStamps];
  /// Of the launch's pointers, by stamp: the one that is written into it; or which it has a say in.
  uint8_t pointers[kMostStamps];
};

/// Folds that do not depend on one another. Each is a FoldTask of its own (fold.h).
struct FoldList {
  static constexpr uint32_t kMostFolds = 32;
  static constexpr uint32_t kMostPointers = 128;
  static constexpr uint32_t kMostSources = 64;  // of a fold

  struct Fold {
    uint64_t count;    // elements
    uint64_t scaled;   // bit k: source k is multiplied by scalars[k]
    uint16_t sources;  // the first, in `pointers`
    uint16_t nsources;
    uint16_t outs;  // likewise
    uint16_t nouts;
  };
  ElementType type;
  Reduction op;
  int32_t divisor;
  uint32_t nfolds;
  uint32_t npointers;
  Fold folds[kMostFolds];
  void* pointers[kMostPointers];
  Scalar scalars[kMostSources];
  StampList stamps;
};
static_assert(sizeof(FoldList) <= 4096, "what a launch can take on every GPU");

}  // namespace rondo::device
