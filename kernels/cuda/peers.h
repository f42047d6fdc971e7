// SPDX-License-Identifier: Apache-2.0
// Peers: receives a Step's messages and sends the block's own, with one thread per peer, by the protocol P
// (simple.h, line_protocol.h). Device code.
#pragma once

#include "message.h"
#include "wait.h"
#include "work.h"

namespace rondo::device {

template <class P>
class Peers {
 public:
  explicit RONDO_DEVICE Peers(const LaneWork& work) : work_(work) {}

  /// Waits for free slots to send and for all messages, and records their slots; false if the call is
  /// stopped, as far as this thread knows.
  RONDO_DEVICE bool meet(const StepAt& at, const DeviceMessage& message) {
    bool stopped = false;
    for (uint32_t k = work_.block.thread(); k < at.sends.count; k += work_.block.threads())
      stopped |= !open(work_.member(at.sends, k), k, message);
    for (uint32_t k = work_.block.thread(); k < at.receives.count; k += work_.block.threads())
      stopped |= !take(work_.member(at.receives, k), k, message);
    return !stopped;
  }

  /// Sends the computed messages and releases the received slots.
  RONDO_DEVICE void part(const StepAt& at, const DeviceMessage& message) {
    for (uint32_t k = work_.block.thread(); k < at.sends.count; k += work_.block.threads()) {
      LaneConnection& to = work_.connection(work_.member(at.sends, k));
      P::send(to, message);
      ++to.sent;
    }
    for (uint32_t k = work_.block.thread(); k < at.receives.count; k += work_.block.threads())
      if (const int32_t index = work_.member(at.receives, k); index >= 0) give_back(work_.connection(index));
  }

 private:
  RONDO_DEVICE bool open(int32_t index, uint32_t k, const DeviceMessage& message) {
    const LaneConnection& to = work_.connection(index);
    const FifoLayout& fifo = to.out;
    Wait wait(work_.block, *work_.call.health);
    // Pairs with the store in give_back().
    while (to.sent - load_before_writes(&fifo.released->value) >= fifo.slots)
      if (wait.stopped()) return false;
    std::byte* slot = fifo.slot(to.sent % fifo.slots, message.bytes);
    work_.shared.slots[k] = slot + P::kBefore;
    work_.shared.out_flags[k] = P::flag(to.sent);
    P::open(to, slot, message);
    return true;
  }

  RONDO_DEVICE bool take(int32_t index, uint32_t k, const DeviceMessage& message) {
    work_.shared.source_flags[k] = 0;
    if (index < 0) return true;
    const LaneConnection& from = work_.connection(index);
    const FifoLayout& fifo = from.in;
    const uint64_t slot = from.received % fifo.slots;
    work_.shared.received[k] = fifo.slot(slot, message.bytes) + P::kBefore;
    work_.shared.source_flags[k] = P::flag(from.received);
    CallHealth& health = *work_.call.health;
    return P::take(from, slot, work_.first_connection + static_cast<uint64_t>(index), message,
                   Wait(work_.block, health), health);
  }

  RONDO_DEVICE void give_back(LaneConnection& from) {
    // Pairs with the load in open(): all threads have read the slot before the preceding barrier.
    store_after_reads(&from.in.released->value, ++from.received);
  }

  const LaneWork& work_;
};

}  // namespace rondo::device
