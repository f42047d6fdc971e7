// SPDX-License-Identifier: Apache-2.0
// A buffer with guard bytes before and after it, which detect out-of-bounds writes. Owns its memory; used
// only by the rank that created it.
#pragma once

#include <cstddef>

namespace rondo::perf {

class BenchBuffer {
 public:
  enum class BufferMemory {
    Plain,  // from aligned_alloc()
    Shared  // from rondo_mem_alloc()
  };

  BenchBuffer() = default;
  BenchBuffer(const BenchBuffer&) = delete;
  BenchBuffer& operator=(const BenchBuffer&) = delete;
  ~BenchBuffer();

  /// Allocates `bytes`, `unalign_bytes` past the start of a page. False if out of memory.
  bool allocate(size_t bytes, size_t unalign_bytes, BufferMemory memory);

  std::byte* data() { return data_; }

  /// Poisons the first `bytes` and writes the guards around them.
  void poison(size_t bytes);

  /// Whether a guard around the first `bytes` was overwritten.
  bool damaged(size_t bytes) const;

 private:
  std::byte* data_ = nullptr;
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
  BufferMemory memory_ = BufferMemory::Plain;
};

}  // namespace rondo::perf
