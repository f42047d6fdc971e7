// SPDX-License-Identifier: Apache-2.0
#include "counted_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <pugixml.hpp>

namespace rondo::test {
namespace {

size_t allocated = 0, peak = 0;

void* allocate(size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) return nullptr;
  allocated += ::malloc_usable_size(memory);
  peak = std::max(peak, allocated);
  return memory;
}

void release(void* memory) {
  if (memory != nullptr) allocated -= ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

CountedMemory::CountedMemory() : at_first_(allocated) {
  peak = allocated;
  pugi::set_memory_management_functions(allocate, release);
}

size_t CountedMemory::peak_bytes() const { return peak - at_first_; }

}  // namespace rondo::test

void* operator new(size_t bytes) {
  void* memory = rondo::test::allocate(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return rondo::test::allocate(bytes);
}
void operator delete(void* memory) noexcept { rondo::test::release(memory); }
void operator delete(void* memory, size_t) noexcept { rondo::test::release(memory); }
