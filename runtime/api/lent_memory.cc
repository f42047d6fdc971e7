// SPDX-License-Identifier: Apache-2.0
// The C API's malloc(), whose large blocks ranks of the host read in place, and the same for NumPy.
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "heap/blocks.h"
#include "rondo/rondo.h"

namespace {

using namespace rondo;

/// False with librondo-heap.so, whose malloc() does it all.
bool is_own_heap_used() {
  static const bool is_used = use_heap(heap::lent_heap());
  return is_used;
}

/// PyDataMem_Handler, version 1, in NumPy's public interface.
struct NumpyHandler {
  char name[127];
  uint8_t version;
  void* context;
  void* (*malloc)(void* context, size_t bytes);
  void* (*calloc)(void* context, size_t count, size_t bytes);
  void* (*realloc)(void* context, void* block, size_t bytes);
  void (*free)(void* context, void* block, size_t bytes);
};

}  // namespace

void* rondo_malloc(size_t bytes) { return is_own_heap_used() ? heap::make(bytes) : std::malloc(bytes); }

void* rondo_calloc(size_t count, size_t bytes) {
  return is_own_heap_used() ? heap::make_zeros(count, bytes) : std::calloc(count, bytes);
}

void* rondo_aligned_alloc(size_t alignment, size_t bytes) {
  const bool is_power_of_2 = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!is_power_of_2) {
    errno = EINVAL;
    return nullptr;
  }
  // C requires a multiple of the alignment.
  const size_t whole =
      bytes <= SIZE_MAX - alignment ? (bytes + alignment - 1) / alignment * alignment : bytes;
  return is_own_heap_used() ? heap::make_aligned(alignment, whole) : std::aligned_alloc(alignment, whole);
}

void* rondo_realloc(void* ptr, size_t bytes) {
  return is_own_heap_used() ? heap::resize_any(ptr, bytes) : std::realloc(ptr, bytes);
}

void rondo_free(void* ptr) { heap::free_any(ptr); }

const void* rondo_numpy_handler(void) {
  static constexpr NumpyHandler kHandler = {
      .name = "rondo",
      .version = 1,
      .context = nullptr,
      .malloc = [](void*, size_t bytes) { return rondo_malloc(bytes); },
      .calloc = [](void*, size_t count, size_t bytes) { return rondo_calloc(count, bytes); },
      .realloc = [](void*, void* block, size_t bytes) { return rondo_realloc(block, bytes); },
      .free = [](void*, void* block, size_t) { rondo_free(block); },
  };
  return &kHandler;
}
