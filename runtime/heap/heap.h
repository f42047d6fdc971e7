// SPDX-License-Identifier: Apache-2.0
// The heap: large blocks in arenas that peers can map. It takes no memory but from the kernel, and no other
// lock while it holds its own. Freed blocks keep their pages for the next ones in the way of glibc, by which
// large blocks of up to 32 MiB do. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/lent_heap.h"

namespace rondo::heap {

/// Blocks of fewer bytes are not the heap's. Constant once the first large block was requested.
size_t smallest_block();

enum class Contents { Any, Zeros };
enum class Outlook { Fixed, MayGrow };

/// A block; null if the heap has none of this kind. `alignment` is a power of two.
void* allocate(size_t bytes, size_t alignment, Contents contents, Outlook outlook);
/// A block that is not expected to grow, if this many bytes are large.
inline void* allocate_large(size_t bytes, size_t alignment, Contents contents) {
  return bytes >= smallest_block() ? allocate(bytes, alignment, contents, Outlook::Fixed) : nullptr;
}
/// Whether a block could be the heap's, by its address.
bool is_of_heap(const void* pointer);
// Of blocks of the heap; anything else there ends the program, as in glibc.
void release(void* block);
/// What the block can hold.
size_t usable_bytes(void* block);
/// Copies what is in a block that is released next; a long one loses its pages meanwhile, so that it never
/// takes twice its memory.
void move_out(void* block, void* to, size_t bytes);
/// Makes a block shorter, or longer if there is room behind it; false if there is none.
bool resize(void* block, size_t bytes);

/// Gives back what freed blocks keep; false if there is nothing.
bool trim();
/// What the program would have had of MADV_DONTNEED: zeros. False if this range is not lent.
bool discard(void* begin, size_t bytes);
/// For memory whose pages a fork must leave alone: its arena is lent no more, so no fork maps it anew.
void end_lending_at(const void* address);

// As in LentHeap.
bool find(const void* at, LentPiece* found);
int open_piece(uint64_t number);

struct HeapCounts {
  size_t blocks = 0;     // that were allocated
  size_t now_bytes = 0;  // in blocks
  size_t max_bytes = 0;
  size_t kept_bytes = 0;  // in freed blocks
  size_t forks = 0;       // that ended the lending of an arena
};
HeapCounts counts();

}  // namespace rondo::heap
