// The seam between device code and the machine, for g++: the twin of gpu/device.h on a simulated machine
// whose writes are weak (machine.h).
#pragma once

#include <cstdint>

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

RONDO_DEVICE uint64_t load_acquire(Word, const uint64_t* at) { return weak::Machine::current().load(at); }
RONDO_DEVICE uint64_t load_relaxed(const uint64_t* at) { return weak::Machine::current().load(at); }
RONDO_DEVICE void store_release(Word word, uint64_t* at, uint64_t value) {
  weak::Machine::current().release(weak::Scope::Sys, word);
  weak::Machine::current().store(at, value);
}
RONDO_DEVICE uint64_t exchange(uint64_t* at, uint64_t value) {
  const uint64_t before = *at;
  *at = value;
  return before;
}
RONDO_DEVICE void add(uint64_t* at, uint64_t value) { *at += value; }

class Block {
 public:
  Block(uint32_t thread, uint32_t threads) : thread_(thread), threads_(threads) {}
  uint32_t thread() const { return thread_; }
  uint32_t threads() const { return threads_; }
  void barrier(int line = __builtin_LINE()) { weak::Machine::current().barrier(false, line); }
  bool any(bool so, int line = __builtin_LINE()) { return weak::Machine::current().barrier(so, line); }
  void pause() { weak::Machine::current().yield(); }

 private:
  uint32_t thread_;
  uint32_t threads_;
};

}  // namespace rondo::device
