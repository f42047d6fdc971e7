// SPDX-License-Identifier: Apache-2.0
// The two ends of a FifoLayout: FifoSender fills slots, FifoReceiver empties them. All handling of sequence
// numbers and credits for shared-memory transports is here. Each object belongs to one thread at a time; the
// memory is shared with the other end, and its words are validated before use.
#pragma once

#include <atomic>
#include <cassert>

#include "base/cache_line.h"
#include "base/park.h"
#include "base/status.h"
#include "schedule/fifo_layout.h"
#include "transports/connection.h"

namespace rondo {

class FifoSender {
 public:
  FifoSender() = default;  // no slots
  explicit FifoSender(const FifoLayout& fifo) : fifo_(fifo) {}

  /// Whether a slot is free for the next message. The arithmetic is unsigned, so a corrupt counter beyond
  /// sent() never yields room.
  bool has_room() { return sent_ - released_ < fifo_.slots || has_been_given_room(); }
  /// The next message's slot, if it has this length; requires a layout with memory.
  std::byte* slot(uint64_t bytes = ~uint64_t{0}) const { return fifo_.slot(index_, bytes); }
  /// Index of the next message's slot.
  uint64_t index() const { return index_; }
  /// The slot of a long message in flight; `message`: its number, from 1.
  std::byte* slot_of(uint64_t message) const { return fifo_.slot((message - 1) % fifo_.slots, ~uint64_t{0}); }
  /// Publishes the next message; requires has_room().
  void publish(size_t bytes, uint64_t note, const Signature& signature) {
    assert(sent_ - released_ < fifo_.slots && bytes <= fifo_.slot_bytes);
    SlotHeader& header = fifo_.headers[index_];
    header.bytes = static_cast<uint32_t>(bytes);
    header.note = note;
    copy_words(header.signature, signature);
    ++sent_;
    // Pairs with the acquire load in FifoReceiver::peek(): publishes the header and the bytes with the
    // number.
    std::atomic_ref(header.ready).store(sent_, std::memory_order_release);
    wake(fifo_.released->receiver_asleep);
    if (++index_ == fifo_.slots) index_ = 0;
  }

  uint64_t sent() const { return sent_; }
  /// Messages that the receiver has released, as last loaded.
  uint64_t seen_returned() const { return released_; }
  /// Whether the receiver has released the first `messages` messages.
  bool returned(uint64_t messages) { return released_ >= messages || has_been_returned(messages); }
  /// What to wait on until the receiver releases more.
  Awaited awaited() const;
  /// An error if the receiver has released more than was sent.
  Status check() const;

  /// Whether the receiver's latest say_waiting() was for the next message too.
  bool is_receiver_waiting() const {
    return fifo_.slots != 0 &&
           std::atomic_ref(fifo_.released->waits_for).load(std::memory_order_relaxed) > sent_;
  }

  /// Whether that is the receiver's latest note_cpu().
  bool is_receiver_on(uint32_t cpu) const {
    return fifo_.slots != 0 && std::atomic_ref(fifo_.released->cpu).load(std::memory_order_relaxed) == cpu;
  }

  /// The receiver's latest set_yielding().
  bool is_receiver_yielding() const {
    return fifo_.slots != 0 &&
           std::atomic_ref(fifo_.released->is_yielding).load(std::memory_order_relaxed) != 0;
  }

 private:
  bool has_been_given_room();
  bool has_been_returned(uint64_t messages);
  void load_released();

  FifoLayout fifo_;
  uint64_t sent_ = 0;
  uint64_t index_ = 0;     // sent_ % slots
  uint64_t released_ = 0;  // as last loaded
};

class FifoReceiver {
 public:
  FifoReceiver() = default;  // no slots
  explicit FifoReceiver(const FifoLayout& fifo) : fifo_(fifo) {}

  /// The oldest message that has arrived, if any; also empty if its header is invalid: see check().
  const Arrival* peek() {
    // Pairs with the release store in FifoSender::publish().
    if (!is_taken_ && ready(std::memory_order_acquire) == received_ + 1) take();
    return is_taken_ ? &arrival_ : nullptr;
  }
  /// Polls briefly; true if the next message has arrived.
  bool poll_briefly() const {
    // Relaxed: peek() loads it again, with acquire.
    size_t line = 0;
    for (int look = 0; look < kBriefPolls; ++look) {
      if (ready(std::memory_order_relaxed) == received_ + 1) return true;
      if (foreseen_bytes_ == 0) continue;
      __builtin_prefetch(foreseen_ + line);
      if ((line += kLineBytes) >= foreseen_bytes_) line = 0;
    }
    return false;
  }
  /// Whether peek() has taken the oldest message.
  bool has_taken() const { return is_taken_; }
  /// The next message's bytes will probably be here, if it is as long as the latest: starts to fetch what the
  /// sender may have written by now, or is about to write.
  void foresee(const std::byte* data, size_t bytes) {
    foreseen_ = data;
    foreseen_bytes_ = bytes <= kForeseenBytes ? bytes : 0;
    for (size_t line = 0; line < foreseen_bytes_; line += kLineBytes) __builtin_prefetch(data + line);
  }
  /// The current arrival's note, and its number, from 1.
  uint64_t note() const { return note_; }
  uint64_t number() const { return received_ + 1; }
  /// Index of the current arrival's slot.
  uint64_t index() const { return index_; }
  /// Returns the current arrival's slot to the sender.
  void release() {
    keep();
    return_all_but(0);
  }
  /// Goes on to the next arrival, before the slot of this one is returned.
  void keep() {
    assert(is_taken_);
    is_taken_ = false;
    ++received_;
    if (++index_ == fifo_.slots) index_ = 0;
  }
  /// Returns the slots of kept arrivals, but for the latest ones.
  void return_all_but(uint64_t latest);
  uint64_t kept() const { return received_ - returned_; }

  /// Tells the sender that this end polls for the next messages, and takes them.
  void say_waiting(uint64_t messages) {
    const uint64_t last = received_ + messages;
    if (said_waiting_ == last || fifo_.slots == 0) return;
    said_waiting_ = last;
    std::atomic_ref(fifo_.released->waits_for).store(said_waiting_, std::memory_order_relaxed);
  }
  /// What to wait on until the next message arrives; empty while one is here.
  Awaited awaited() const;
  /// Tells the sender on which CPU this end waits.
  void note_cpu(uint32_t cpu) {
    if (cpu != cpu_ && fifo_.slots != 0)
      std::atomic_ref(fifo_.released->cpu).store(cpu_ = cpu, std::memory_order_relaxed);
  }
  /// Tells the sender whether this end yields its CPU.
  void set_yielding(bool is_yielding) {
    if (fifo_.slots != 0)
      std::atomic_ref(fifo_.released->is_yielding).store(is_yielding, std::memory_order_relaxed);
  }

  /// An error if the sender's header is invalid.
  Status check() const;

 private:
  static constexpr int kBriefPolls = 64;  // polls
  static constexpr size_t kForeseenBytes = 512;

  /// The next slot's `ready`; 0, which no message has, if there are no slots.
  uint64_t ready(std::memory_order order) const {
    return fifo_.slots == 0 ? 0 : std::atomic_ref(fifo_.headers[index_].ready).load(order);
  }
  void take();
  uint64_t ready_before() const;

  FifoLayout fifo_;
  uint64_t received_ = 0;  // messages kept or released
  uint64_t returned_ = 0;  // of which slots have been returned
  uint64_t index_ = 0;     // received_ % slots
  uint64_t note_ = 0;
  const std::byte* foreseen_ = nullptr;  // the next message's bytes,
  size_t foreseen_bytes_ = 0;            // and how many, if it is as long as the latest
  uint32_t cpu_ = 0;                     // as the sender was told
  uint64_t said_waiting_ = 0;            // the last message that the sender was told of
  // Copied from the header when it was checked, so the sender can no longer change it.
  Signature signature_;
  Arrival arrival_;
  bool is_taken_ = false;
  Status failure_;
};

/// Connection::awaited() of a connection made of these two.
inline Awaited awaited_of(Connection::Awaiting what, const FifoSender& sender, const FifoReceiver& receiver) {
  return what == Connection::Awaiting::Arrival ? receiver.awaited() : sender.awaited();
}

}  // namespace rondo
