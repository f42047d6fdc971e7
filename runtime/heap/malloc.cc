// SPDX-License-Identifier: Apache-2.0
// The functions by which librondo-heap.so takes the place of the C library's. Large blocks are the heap's,
// all others the next allocator's, as are those that the heap cannot serve.
#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "heap.h"
#include "heap/blocks.h"
#include "next_malloc.h"
#include "state.h"
#include "words.h"

// If the program has a malloc() of its own, but not all of its companions, those here have to call the
// program's:
// "::realloc()" and "::free()" are whatever comes first.
#define RONDO_EXPORTED extern "C" __attribute__((visibility("default")))

namespace rondo::heap {
namespace {

bool is_alignment(size_t bytes) { return bytes != 0 && (bytes & (bytes - 1)) == 0; }

void* large(size_t bytes, size_t alignment) { return allocate_large(bytes, alignment, Contents::Any); }

/// Tells at its end what it did, to those who want to know.
struct HeapFarewell {
  ~HeapFarewell() {
    const HeapCounts all = counts();
    if (all.blocks == 0) return;
    Sentence sentence;
    sentence << all.blocks << " large blocks, at most " << (all.max_bytes >> 20) << " MiB at a time; "
             << all.forks << " forks ended that they were lent";
    say(Importance::Info, sentence.text());
  }
};

}  // namespace
}  // namespace rondo::heap

using namespace rondo::heap;

RONDO_EXPORTED void* malloc(size_t bytes) { return make(bytes); }
RONDO_EXPORTED void* calloc(size_t count, size_t each) { return make_zeros(count, each); }

RONDO_EXPORTED void free(void* block) { free_any(block); }
RONDO_EXPORTED void free_sized(void* block, size_t) { ::free(block); }
RONDO_EXPORTED void free_aligned_sized(void* block, size_t, size_t) { ::free(block); }

RONDO_EXPORTED void* realloc(void* old, size_t bytes) { return resize_any(old, bytes); }

RONDO_EXPORTED void* reallocarray(void* old, size_t count, size_t each) {
  size_t bytes = 0;
  if (!__builtin_mul_overflow(count, each, &bytes))
    return is_in_charge() ? resize_any(old, bytes) : ::realloc(old, bytes);
  errno = ENOMEM;
  return nullptr;
}

RONDO_EXPORTED int posix_memalign(void** made, size_t alignment, size_t bytes) {
  const bool is_valid = is_alignment(alignment) && alignment % sizeof(void*) == 0;
  void* const block = is_valid ? large(bytes, alignment) : nullptr;
  if (block == nullptr) return next_malloc().posix_memalign(made, alignment, bytes);
  *made = block;
  return 0;
}

RONDO_EXPORTED void* aligned_alloc(size_t alignment, size_t bytes) {
  return is_alignment(alignment) ? make_aligned(alignment, bytes)
                                 : next_malloc().aligned_alloc(alignment, bytes);
}

RONDO_EXPORTED void* memalign(size_t alignment, size_t bytes) {
  void* const made = is_alignment(alignment) ? large(bytes, alignment) : nullptr;
  return made != nullptr ? made : next_malloc().memalign(alignment, bytes);
}

RONDO_EXPORTED void* valloc(size_t bytes) {
  void* const made = large(bytes, 1);
  return made != nullptr ? made : next_malloc().valloc(bytes);
}

RONDO_EXPORTED void* pvalloc(size_t bytes) {
  void* const made = large(bytes, 1);
  return made != nullptr ? made : next_malloc().pvalloc(bytes);
}

RONDO_EXPORTED size_t malloc_usable_size(void* block) { return block == nullptr ? 0 : bytes_in(block); }

RONDO_EXPORTED int malloc_trim(size_t left) {
  const bool any = trim();
  return next_malloc().malloc_trim(left) != 0 || any ? 1 : 0;
}

/// What is discarded is zeros afterwards, which the kernel only does for memory that is not shared.
RONDO_EXPORTED int madvise(void* begin, size_t bytes, int advice) {
  const bool discards = advice == MADV_DONTNEED || advice == MADV_FREE;
  if (discards && is_of_heap(begin) && discard(begin, bytes)) return 0;
  if (advice == MADV_DONTFORK && is_of_heap(begin)) end_lending_at(begin);
  return next_malloc().madvise(begin, bytes, advice);
}

// What these set would be lost when a fork maps the memory anew.
RONDO_EXPORTED int mprotect(void* begin, size_t bytes, int protection) {
  if (is_of_heap(begin)) end_lending_at(begin);
  return next_malloc().mprotect(begin, bytes, protection);
}

RONDO_EXPORTED int mlock(const void* begin, size_t bytes) {
  if (is_of_heap(begin)) end_lending_at(begin);
  return next_malloc().mlock(begin, bytes);
}

/// pthread_join() waits for a word of the stack, which the kernel knows by its mapping.
RONDO_EXPORTED int pthread_attr_setstack(pthread_attr_t* attributes, void* begin, size_t bytes) {
  if (is_of_heap(begin)) end_lending_at(begin);
  return next_malloc().pthread_attr_setstack(attributes, begin, bytes);
}

namespace {
constinit const HeapFarewell farewell;
}  // namespace

extern "C" {
__attribute__((visibility("default"))) extern const rondo::LentHeap rondo_lent_heap_1;
constinit const rondo::LentHeap rondo_lent_heap_1 = kLentHeap;
}
