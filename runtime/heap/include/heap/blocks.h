// SPDX-License-Identifier: Apache-2.0
// Blocks of any size, as of malloc() and its companions: large ones are the heap's, all others those of the
// allocator that the program has besides, as are those that the heap cannot serve. Any thread.
#pragma once

#include <cstddef>

#include "base/lent_heap.h"

namespace rondo::heap {

void* make(size_t bytes);
void* make_zeros(size_t count, size_t each);
/// The alignment is a power of two.
void* make_aligned(size_t alignment, size_t bytes);
void* resize_any(void* old, size_t bytes);
void free_any(void* block);
/// What the block can hold.
size_t bytes_in(void* block);

/// What tells librondo of the heap's memory.
const LentHeap& lent_heap();

}  // namespace rondo::heap
