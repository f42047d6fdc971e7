// SPDX-License-Identifier: Apache-2.0
#include "heap/blocks.h"

#include <algorithm>
#include <cstring>

#include "heap.h"
#include "next_malloc.h"
#include "state.h"

namespace rondo::heap {
namespace {

void* moved(void* old, size_t bytes) {
  void* made = bytes >= smallest_block() ? allocate(bytes, 1, Contents::Any, Outlook::MayGrow) : nullptr;
  if (made == nullptr) made = next_malloc().malloc(bytes);
  if (made == nullptr) return nullptr;
  const size_t kept = std::min(bytes_in(old), bytes);
  if (is_of_heap(old))
    move_out(old, made, kept);
  else
    std::memcpy(made, old, kept);
  free_any(old);
  return made;
}

}  // namespace

void* make(size_t bytes) {
  void* const made = allocate_large(bytes, 1, Contents::Any);
  return made != nullptr ? made : next_malloc().malloc(bytes);
}

void* make_zeros(size_t count, size_t each) {
  size_t bytes = 0;
  const bool is_size = !__builtin_mul_overflow(count, each, &bytes);
  void* const made = is_size ? allocate_large(bytes, 1, Contents::Zeros) : nullptr;
  return made != nullptr ? made : next_malloc().calloc(count, each);
}

void* make_aligned(size_t alignment, size_t bytes) {
  void* const made = allocate_large(bytes, alignment, Contents::Any);
  return made != nullptr ? made : next_malloc().aligned_alloc(alignment, bytes);
}

void* resize_any(void* old, size_t bytes) {
  if (old == nullptr) {
    void* const made = allocate_large(bytes, 1, Contents::Any);
    return made != nullptr ? made : next_malloc().realloc(nullptr, bytes);
  }
  const bool is_ours = is_of_heap(old);
  if (!is_ours && !is_of_buffer(old) && bytes < smallest_block()) return next_malloc().realloc(old, bytes);
  if (bytes == 0) {
    free_any(old);
    return nullptr;
  }
  if (is_ours && bytes >= smallest_block() && resize(old, bytes)) return old;
  return moved(old, bytes);
}

void free_any(void* block) {
  if (is_of_heap(block)) return release(block);
  if (!is_of_buffer(block)) next_malloc().free(block);
}

size_t bytes_in(void* block) {
  if (is_of_buffer(block)) return bytes_in_buffer(block);
  return is_of_heap(block) ? usable_bytes(block) : next_malloc().malloc_usable_size(block);
}

const LentHeap& lent_heap() { return kLentHeap; }

}  // namespace rondo::heap
