// SPDX-License-Identifier: Apache-2.0
#include "buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "poison.h"
#include "rondo/rondo.h"

namespace rondo::perf {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

BenchBuffer::~BenchBuffer() {
  if (mapping_ == nullptr) return;
  if (memory_ == BufferMemory::Shared) {
    rondo_mem_free(mapping_);
  } else {
    munmap(mapping_, mapped_);
  }
}

bool BenchBuffer::allocate(size_t bytes, size_t unalign_bytes, BufferMemory memory) {
  memory_ = memory;
  mapped_ = kPage + unalign_bytes + bytes + kGuard;
  if (memory == BufferMemory::Shared) {
    if (rondo_mem_alloc(&mapping_, mapped_) != RONDO_OK) return false;
  } else {
    void* pages = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return false;
    mapping_ = pages;
  }
  data_ = static_cast<std::byte*>(mapping_) + kPage + unalign_bytes;
  return true;
}

void BenchBuffer::poison(size_t bytes) {
  std::fill_n(data_ - kGuard, kGuard, kGuardByte);
  std::fill_n(data_, bytes, kPoison);
  std::fill_n(data_ + bytes, kGuard, kGuardByte);
}

bool BenchBuffer::damaged(size_t bytes) const {
  return !holds_only(data_ - kGuard, kGuard, kGuardByte) || !holds_only(data_ + bytes, kGuard, kGuardByte);
}

}  // namespace rondo::perf
