// SPDX-License-Identifier: Apache-2.0
#include "buffer.h"

#include <algorithm>
#include <cstdlib>
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
    std::free(mapping_);
  }
}

bool BenchBuffer::allocate(size_t bytes, size_t unalign_bytes, BufferMemory memory) {
  memory_ = memory;
  mapped_ = kPage + unalign_bytes + bytes + kGuard;
  if (memory == BufferMemory::Shared) {
    if (rondo_mem_alloc(&mapping_, mapped_) != RONDO_OK) return false;
  } else {
    mapped_ = (mapped_ + kPage - 1) / kPage * kPage;
    mapping_ = std::aligned_alloc(kPage, mapped_);
    if (mapping_ == nullptr) return false;
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
