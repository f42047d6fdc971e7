// SPDX-License-Identifier: Apache-2.0
// The seam between device code and the machine, for g++: the twin of gpu/device.h in which a block's threads
// are host threads.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <deque>
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

RONDO_DEVICE void store_after_reads(uint64_t* at, uint64_t value) {
  store_release(Word::Released, at, value);
}
RONDO_DEVICE uint64_t load_before_writes(const uint64_t* at) { return load_acquire(Word::Released, at); }

RONDO_DEVICE Words load_words(const Words* at) {
  return {load_relaxed(&at->first), load_relaxed(&at->second)};
}
RONDO_DEVICE void store_words(Words* at, const Words& words) {
  std::atomic_ref(at->first).store(words.first, std::memory_order_relaxed);
  std::atomic_ref(at->second).store(words.second, std::memory_order_relaxed);
}

RONDO_DEVICE uint64_t exchange(uint64_t* at, uint64_t value) {
  return std::atomic_ref(*at).exchange(value, std::memory_order_relaxed);
}
RONDO_DEVICE uint64_t add(uint64_t* at, uint64_t value) {
  return std::atomic_ref(*at).fetch_add(value, std::memory_order_relaxed);
}

/// Shared by the host threads that represent a block.
struct BlockMeeting {
  explicit BlockMeeting(uint32_t count) : threads(count), barrier(count) {
    for (uint32_t first = 0; first < count; first += kLineLanes) groups.emplace_back();
  }
  struct Group {
    std::barrier<> barrier{kLineLanes};
    uint64_t of_last = 0;
  };
  uint32_t threads;
  std::barrier<> barrier;
  std::atomic<bool> said = false;
  std::deque<Group> groups;
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
    barrier();  // before the next any() sets it
    return said;
  }
  void pause() { std::this_thread::yield(); }

  /// A line appears indivisible because its flag is written after the rest and read before it.
  void load_line(const Pack* line, Pack (&mine)[kLinePacks]) {
    const uint64_t flag = is_last() ? load_acquire(Word::Ready, flag_of(line)) : 0;
    group().barrier.arrive_and_wait();
    const auto* words = reinterpret_cast<const Words*>(line) + place() * kLinePacks;
    for (uint32_t p = 0; p < kLinePacks; ++p) mine[p] = bits_as<Pack>(load_words(words + p));
    if (is_last())
      mine[kLinePacks - 1] = bits_as<Pack>(Words{bits_as<Words>(mine[kLinePacks - 1]).first, flag});
  }
  void store_line(Pack* line, const Pack (&mine)[kLinePacks]) {
    auto* words = reinterpret_cast<Words*>(line) + place() * kLinePacks;
    for (uint32_t p = 0; p + 1 < kLinePacks; ++p) store_words(words + p, bits_as<Words>(mine[p]));
    const Words last = bits_as<Words>(mine[kLinePacks - 1]);
    if (!is_last()) store_words(words + kLinePacks - 1, last);
    if (is_last()) std::atomic_ref(words[kLinePacks - 1].first).store(last.first, std::memory_order_relaxed);
    group().barrier.arrive_and_wait();
    if (is_last()) store_release(Word::Ready, const_cast<uint64_t*>(flag_of(line)), last.second);
  }
  uint64_t of_last(uint64_t value) {
    if (is_last()) group().of_last = value;
    group().barrier.arrive_and_wait();
    const uint64_t last = group().of_last;
    group().barrier.arrive_and_wait();  // all have read it
    return last;
  }

 private:
  uint32_t place() const { return thread_ % kLineLanes; }
  bool is_last() const { return place() == kLineLanes - 1; }
  BlockMeeting::Group& group() { return meeting_.groups[thread_ / kLineLanes]; }
  static const uint64_t* flag_of(const Pack* line) {
    return &(reinterpret_cast<const Words*>(line) + kLineLanes * kLinePacks - 1)->second;
  }

  BlockMeeting& meeting_;
  uint32_t thread_;
};

}  // namespace rondo::device
