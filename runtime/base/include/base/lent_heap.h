// SPDX-License-Identifier: Apache-2.0
// What a heap tells librondo: which of its memory peers can map. librondo has one for rondo_malloc();
// librondo-heap.so, if the process has it, is one for malloc(). These two are separate libraries, perhaps of
// different versions, so this is plain data under a name that ends with its version. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo {

/// A file that holds large blocks, mapped shared.
struct LentPiece {
  std::byte* begin;
  size_t bytes;
  uint64_t number;           // from 1, never reused
  const uint64_t* lent_now;  // accessed atomically: holds `number` while the piece is lent, forever valid
};

struct LentHeap {
  /// Whether the address is in a piece; takes no lock.
  bool (*find)(const void* at, LentPiece* found);
  /// A descriptor of the piece's file, which is the caller's; -1 if it is not lent any more.
  int (*open)(uint64_t number);
  /// How many pieces are not lent any more, accessed atomically.
  const uint64_t* ended;
};
inline constexpr const char* kLentHeapSymbol = "rondo_lent_heap_1";

/// Has librondo look for memory that peers can map in its own heap, which lives forever. False if
/// librondo-heap.so takes its place.
bool use_heap(const LentHeap& own);

}  // namespace rondo
