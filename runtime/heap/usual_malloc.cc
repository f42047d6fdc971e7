// SPDX-License-Identifier: Apache-2.0
// The other allocator where the heap is within librondo, and takes no function's place: the program's.
#include <malloc.h>
#include <sys/mman.h>

#include <cstdlib>

#include "next_malloc.h"

namespace rondo::heap {

const NextMalloc& next_malloc() {
  static constexpr NextMalloc kUsual = {
      .malloc = std::malloc,
      .calloc = std::calloc,
      .realloc = std::realloc,
      .free = std::free,
      .posix_memalign = ::posix_memalign,
      .aligned_alloc = std::aligned_alloc,
      .memalign = ::memalign,
      .valloc = ::valloc,
      .pvalloc = ::pvalloc,
      .malloc_usable_size = ::malloc_usable_size,
      .malloc_trim = ::malloc_trim,
      .madvise = ::madvise,
      .mprotect = ::mprotect,
      .mlock = ::mlock,
      .pthread_attr_setstack = ::pthread_attr_setstack,
  };
  return kUsual;
}

bool is_in_charge() { return true; }
/// Calls work as well, and only take longer.
Importance importance_of_refusal() { return Importance::Info; }
bool is_of_buffer(const void*) { return false; }
size_t bytes_in_buffer(const void*) { return 0; }

}  // namespace rondo::heap
