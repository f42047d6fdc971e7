// SPDX-License-Identifier: Apache-2.0
// The seam between device code and the machine, for g++: the twin of gpu/device.h on a simulated machine with
// weak memory ordering (machine.h).
#pragma once

#include <cstdint>
#include <utility>

#include "host_values.h"
#include "machine.h"

namespace rondo::device {

template <class T>
RONDO_DEVICE T read(const T* at) {
  T value;
  weak::Machine::current().read(at, &value, sizeof value);
  return value;
}
template <class T>
RONDO_DEVICE void write(T* at, const T& value) {
  weak::Machine::current().write(at, &value, sizeof value);
}

RONDO_DEVICE uint64_t load_acquire(Word word, const uint64_t* at) {
  return weak::Machine::current().acquire(at, word);
}
RONDO_DEVICE uint64_t load_relaxed(const uint64_t* at) { return weak::Machine::current().load(at); }
RONDO_DEVICE void store_release(Word word, uint64_t* at, uint64_t value) {
  using weak::Scope;
  weak::Machine::current().release(stays_on_device(word) ? Scope::Gpu : Scope::Sys, word);
  weak::Machine::current().store(at, value);
}
RONDO_DEVICE void store_after_reads(uint64_t* at, uint64_t value) {
  weak::Machine::current().store_after_reads(at, value);
}
RONDO_DEVICE uint64_t load_before_writes(const uint64_t* at) {
  return weak::Machine::current().load_before_writes(at);
}

RONDO_DEVICE Words load_words(const Words* at) {
  auto& machine = weak::Machine::current();
  const uint64_t first = machine.load(&at->first);
  return {first, machine.load(&at->second)};
}
RONDO_DEVICE void store_words(Words* at, const Words& words) {
  auto& machine = weak::Machine::current();
  machine.send_off(&at->first, words.first);
  machine.send_off(&at->second, words.second);
}

RONDO_DEVICE uint64_t exchange(uint64_t* at, uint64_t value) {
  const uint64_t before = *at;
  *at = value;
  return before;
}
RONDO_DEVICE uint64_t add(uint64_t* at, uint64_t value) { return std::exchange(*at, *at + value); }

class Block {
 public:
  Block(uint32_t thread, uint32_t threads) : thread_(thread), threads_(threads) {}
  uint32_t thread() const { return thread_; }
  uint32_t threads() const { return threads_; }
  void barrier(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    weak::Machine::current().barrier(false, {file, line});
  }
  bool any(bool so, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return weak::Machine::current().barrier(so, {file, line});
  }
  void pause() { weak::Machine::current().yield(); }

  void load_line(const Pack* line, Pack (&mine)[kLinePacks]) {
    weak::LineBytes all;
    weak::Machine::current().load_line(line, group(), kLineLanes, all);
    std::memcpy(mine, all.data() + place() * sizeof mine, sizeof mine);
  }
  void store_line(Pack* line, const Pack (&mine)[kLinePacks]) {
    weak::Machine::current().store_line(line, group(), kLineLanes, place() * sizeof mine, mine, sizeof mine);
  }
  uint64_t of_last(uint64_t value) {
    return weak::Machine::current().share(value, place() == kLineLanes - 1, group(), kLineLanes);
  }

 private:
  uint32_t place() const { return thread_ % kLineLanes; }
  uint32_t group() const { return thread_ / kLineLanes; }

  uint32_t thread_;
  uint32_t threads_;
};

}  // namespace rondo::device
