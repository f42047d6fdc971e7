// SPDX-License-Identifier: Apache-2.0
#include "common/fifo.h"

#include <algorithm>

#include "base/error_kinds.h"

namespace rondo {

bool FifoSender::has_been_given_room() {
  if (fifo_.slots == 0) return false;
  load_released();
  return sent_ - released_ < fifo_.slots;
}

void FifoSender::load_released() {
  // Pairs with the release store in FifoReceiver::release(): the slot is not overwritten before it was read.
  released_ = std::atomic_ref(fifo_.released->value).load(std::memory_order_acquire);
}

bool FifoSender::has_been_returned(uint64_t messages) {
  load_released();
  return released_ >= messages;
}

Awaited FifoSender::awaited() const {
  if (fifo_.slots == 0) return {};
  return AwaitedCounter{&fifo_.released->value, released_, &fifo_.released->asleep};
}

Status FifoSender::check() const {
  if (fifo_.slots == 0) return {};
  // Relaxed: only the number itself is used.
  const uint64_t released = std::atomic_ref(fifo_.released->value).load(std::memory_order_relaxed);
  if (released <= sent_) return {};
  return error(ErrorKind::MessageBroken, "the peer released {} slots, but {} were sent", released, sent_);
}

void FifoReceiver::take() {
  if (!failure_.ok()) return;
  const SlotHeader& header = fifo_.headers[index_];
  // Volatile: read once, so that a hostile sender cannot change the value between check and use.
  const uint32_t bytes = *static_cast<const volatile uint32_t*>(&header.bytes);
  if (bytes > fifo_.slot_bytes) {
    failure_ = error(ErrorKind::MessageBroken, "the header of message {} says {} bytes; a slot has {}",
                     number(), bytes, fifo_.slot_bytes);
    return;
  }
  note_ = header.note;
  signature_ = header.signature;
  const uint64_t next = index_ + 1 == fifo_.slots ? 0 : index_ + 1;
  __builtin_prefetch(&fifo_.headers[next]);
  foreseen_bytes_ = 0;
  const std::byte* data = reinterpret_cast<const std::byte*>(note_);
  if (fifo_.memory != nullptr) {
    data = fifo_.slot(index_, bytes);
    foresee(fifo_.slot(next, ~uint64_t{0}), bytes);
  }
  arrival_ = Arrival{data, bytes, &signature_};
  is_taken_ = true;
}

void FifoReceiver::return_all_but(uint64_t latest) {
  if (latest >= kept()) return;
  returned_ = received_ - latest;
  // Pairs with the acquire load in FifoSender::load_released(): the slot is read before it is reused.
  std::atomic_ref(fifo_.released->value).store(returned_, std::memory_order_release);
  wake(fifo_.released->asleep);
}

Awaited FifoReceiver::awaited() const {
  if (fifo_.slots == 0 || is_taken_) return {};
  return AwaitedCounter{&fifo_.headers[index_].ready, ready_before(), &fifo_.released->receiver_asleep};
}

/// Value of `ready` in the next message's slot until that message arrives.
uint64_t FifoReceiver::ready_before() const {
  return received_ + 1 > fifo_.slots ? received_ + 1 - fifo_.slots : 0;
}

Status FifoReceiver::check() const {
  if (!failure_.ok() || fifo_.slots == 0) return failure_;
  // Relaxed: only the number itself is used. In one slot it starts at 0 and then grows in steps of `slots`,
  // so until the next message it is ready_before().
  const uint64_t ready = std::atomic_ref(fifo_.headers[index_].ready).load(std::memory_order_relaxed);
  if (ready == received_ + 1 || ready == ready_before()) return {};
  return error(ErrorKind::MessageBroken, "a slot header has number {} instead of {} or {}", ready,
               ready_before(), received_ + 1);
}

}  // namespace rondo
