// SPDX-License-Identifier: Apache-2.0
// The allocator that the program would have without librondo-heap.so: that of the C library, or another one
// that is linked or preloaded. Finding it takes memory, which comes from a small buffer. Any thread.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "words.h"

namespace rondo::heap {

struct NextMalloc {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void (*free)(void*);
  int (*posix_memalign)(void**, size_t, size_t);
  void* (*aligned_alloc)(size_t, size_t);
  void* (*memalign)(size_t, size_t);
  void* (*valloc)(size_t);
  void* (*pvalloc)(size_t);
  size_t (*malloc_usable_size)(void*);
  int (*malloc_trim)(size_t);
  int (*madvise)(void*, size_t, int);
  int (*mprotect)(void*, size_t, int);
  int (*mlock)(const void*, size_t);
  int (*pthread_attr_setstack)(pthread_attr_t*, void*, size_t);
};

/// The functions of the buffer while the others are being looked up.
const NextMalloc& next_malloc();

/// Whether the program's malloc() and free() are this library's, and not others that come before it.
bool is_in_charge();

/// How much the user needs to know that large blocks are those of the other allocator.
Importance importance_of_refusal();

/// Whether this memory is from the buffer, and never freed.
bool is_of_buffer(const void* pointer);
/// Its bytes.
size_t bytes_in_buffer(const void* pointer);

}  // namespace rondo::heap
