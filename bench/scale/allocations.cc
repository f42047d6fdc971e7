// SPDX-License-Identifier: Apache-2.0
#include "allocations.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

long live = 0;
long peak = 0;

}  // namespace

void begin_allocations() { live = peak = 0; }

size_t peak_allocations() { return static_cast<size_t>(peak); }

void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  void* const made = std::malloc(bytes);
  live += static_cast<long>(::malloc_usable_size(made));
  peak = std::max(peak, live);
  return made;
}

void* operator new(size_t bytes) {
  void* const made = operator new(bytes, std::nothrow);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

void operator delete(void* memory) noexcept {
  live -= static_cast<long>(::malloc_usable_size(memory));
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
