// SPDX-License-Identifier: Apache-2.0
// TraceRing: records on their way from threads that make calls to the thread that writes them. A bounded
// queue of many producers and one consumer after Dmitry Vyukov ("Bounded MPMC queue", 1024cores.net).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "health/trace.h"

namespace rondo {

class TraceRing {
 public:
  static constexpr uint64_t kRecords = 65'536;

  TraceRing() {
    for (uint64_t at = 0; at < kRecords; ++at) slots_[at].turn.store(at, std::memory_order_relaxed);
  }

  /// False: there is no room, and the record was counted as dropped. Any thread.
  bool push(const TraceRecord& record) {
    uint64_t at = pushed_.load(std::memory_order_relaxed);
    for (;;) {
      TraceSlot& slot = slots_[at % kRecords];
      const uint64_t turn = slot.turn.load(std::memory_order_acquire);  // pairs with pop()
      if (turn == at) {
        if (!pushed_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        slot.record = record;
        slot.turn.store(at + 1, std::memory_order_release);  // pairs with pop()
        return true;
      }
      if (turn < at) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return false;
      }
      at = pushed_.load(std::memory_order_relaxed);
    }
  }

  /// False: there is none. One thread.
  bool pop(TraceRecord& record) {
    TraceSlot& slot = slots_[popped_ % kRecords];
    if (slot.turn.load(std::memory_order_acquire) != popped_ + 1) return false;  // pairs with push()
    record = slot.record;
    slot.turn.store(popped_++ + kRecords, std::memory_order_release);  // pairs with push()
    return true;
  }

  /// Those that had no room so far.
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  /// How many have been pushed and popped.
  uint64_t pushed() const { return pushed_.load(std::memory_order_relaxed); }
  uint64_t popped() const { return popped_; }

 private:
  struct TraceSlot {
    std::atomic<uint64_t> turn;  // its number: to be pushed; one more: to be popped
    TraceRecord record;
  };

  alignas(64) std::atomic<uint64_t> pushed_{0};
  std::atomic<uint64_t> dropped_{0};
  alignas(64) uint64_t popped_ = 0;
  std::array<TraceSlot, kRecords> slots_;
};

}  // namespace rondo
