// A buffer whose surroundings are watched: guard bytes before and after it show writes out of bounds. Owns
// its memory; used by the one rank that made it.
#pragma once

#include <cstddef>

namespace rondo::perf {

class Buffer {
 public:
  enum class Memory {
    Plain,  // anonymous pages
    Shared  // from rondo_mem_alloc()
  };

  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  /// Room for `bytes`, `unalign_bytes` past the start of a page. False where memory cannot be had.
  bool allocate(size_t bytes, size_t unalign_bytes, Memory memory);

  std::byte* data() { return data_; }
  size_t capacity() const { return capacity_; }

  /// Poisons the first `bytes` and draws the guards around them.
  void poison(size_t bytes);

  /// Whether a guard around those bytes was written to.
  bool damaged(size_t bytes) const;

 private:
  std::byte* data_ = nullptr;
  size_t capacity_ = 0;
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
  Memory memory_ = Memory::Plain;
};

}  // namespace rondo::perf
