// SPDX-License-Identifier: Apache-2.0
// Arena: a stretch of address space whose blocks lie in one memfd, mapped shared, so that peers can map the
// file too. That is for as long as the arena is lent: a fork ends it, and both processes then have the file
// mapped privately. No process writes to the file from then on, so each sees the memory as it was, until it
// writes itself. Guarded by the heap's lock, but for what is atomic.
#pragma once

#include <cstddef>
#include <cstdint>

#include "own_file.h"
#include "run_map.h"

namespace rondo::heap {

inline constexpr size_t kArenaBytes = size_t{1} << 30;  // or a multiple

struct Arena {
  uint64_t number = 0;  // 0: not lent; written atomically, as librondo reads it without the lock
  std::byte* begin = nullptr;
  size_t bytes = 0;  // 0: no arena
  uint32_t blocks = 0;
  bool is_huge = false;       // has been made for one block
  bool is_inherited = false;  // the file is the parent's
  uint64_t shared_from = 0;   // the first fork whose child has it, if it is not lent
  uint64_t freed_after = 0;   // the latest fork before a block was last freed
  uint32_t dumped = 0;        // granules that core dumps hold: all that have been in blocks
  OwnFile file;
  RunMap map;

  bool is_lent() const { return number != 0; }
  std::byte* at(uint32_t granule) const { return begin + granule * kGranuleBytes; }
  uint32_t granule_of(const void* pointer) const {
    return static_cast<uint32_t>(static_cast<size_t>(static_cast<const std::byte*>(pointer) - begin) /
                                 kGranuleBytes);
  }

  /// Takes the place of reserved address space; false if there is no file or no memory.
  bool make(std::byte* place, size_t size, uint64_t new_number);
  /// Core dumps hold these granules from now on: the kernel would fill one with all the rest.
  void dump_to(uint32_t granules);
  /// Gives the memory back; the address space is reserved again.
  void drop();
  /// Gives the memory of granules back, which are then zeros; false if the kernel refuses.
  bool empty(uint32_t first, uint32_t granules) const;
  /// The same where the arena is not lent, for what its file holds too: no other process needs it.
  void empty_file(uint32_t first, uint32_t granules) const;
  /// Likewise where there are no blocks, and, if `blocks_too`, where blocks have pages of their own.
  void tidy_file(bool blocks_too) const;
  /// Before a fork: all blocks become this process's own. They are copied if the file cannot be found.
  void keep_private();
};

/// The system call: malloc.cc has a madvise() of its own.
bool advise(std::byte* begin, size_t bytes, int advice);

/// Keeps address space free for arenas; null if the process may not.
std::byte* reserve(size_t bytes, size_t alignment);

}  // namespace rondo::heap
