// The seam between device code and the machine, for g++: the twin of gpu/device.h in which the
// threads of a block are threads of the host.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <thread>

#include "host_values.h"
#include "word.h"

namespace rondo::device {

template <class T>
RONDO_DEVICE T read(const T* at) {
  return *at;
}
template <class T>
RONDO_DEVICE void write(T* at, const T& value) {
  *at = value;
}

RONDO_DEVICE uint64_t load_acquire(Word, const uint64_t* at) {
  return std::atomic_ref(*const_cast<uint64_t*>(at)).load(std::memory_order_acquire);
}
RONDO_DEVICE void store_release(Word, uint64_t* at, uint64_t value) {
  std::atomic_ref(*at).store(value, std::memory_order_release);
}
RONDO_DEVICE uint64_t load_relaxed(const uint64_t* at) {
  return std::atomic_ref(*const_cast<uint64_t*>(at)).load(std::memory_order_relaxed);
}

RONDO_DEVICE uint64_t exchange(uint64_t* at, uint64_t value) {
  return std::atomic_ref(*at).exchange(value, std::memory_order_relaxed);
}
RONDO_DEVICE void add(uint64_t* at, uint64_t value) {
  std::atomic_ref(*at).fetch_add(value, std::memory_order_relaxed);
}

/// What the host threads that stand for a block share.
struct BlockMeeting {
  explicit BlockMeeting(uint32_t count) : threads(count), barrier(count) {}
  uint32_t threads;
  std::barrier<> barrier;
  std::atomic<bool> said = false;
};

class Block {
 public:
  Block(BlockMeeting& meeting, uint32_t thread) : meeting_(meeting), thread_(thread) {}
  uint32_t thread() const { return thread_; }
  uint32_t threads() const { return meeting_.threads; }
  void barrier() { meeting_.barrier.arrive_and_wait(); }
  bool any(bool so) {
    if (so) meeting_.said.store(true, std::memory_order_relaxed);
    barrier();
    const bool said = meeting_.said.load(std::memory_order_relaxed);
    barrier();  // all have read it
    if (thread_ == 0) meeting_.said.store(false, std::memory_order_relaxed);
    barrier();  // before the next one says so
    return said;
  }
  void pause() { std::this_thread::yield(); }

 private:
  BlockMeeting& meeting_;
  uint32_t thread_;
};

}  // namespace rondo::device
