// The two users of a FifoLayout: FifoSender fills slots, FifoReceiver empties them. Here is all that
// transports in shared memory know about sequence numbers and credits. Each object belongs to one thread at a
// time; the memory is shared with the other end, whose words are checked before they are believed.
#pragma once

#include <atomic>
#include <optional>

#include "base/doze.h"
#include "base/status.h"
#include "schedule/fifo_layout.h"
#include "transports/connection.h"

namespace rondo {

class FifoSender {
 public:
  FifoSender() = default;  // of no slots
  explicit FifoSender(const FifoLayout& fifo) : fifo_(fifo) {}

  /// Whether a slot is free for the next message. Unsigned: a counter beyond what was sent gives no room,
  /// whatever it says.
  bool has_room() { return sent_ - released_ < fifo_.slots || has_been_given_room(); }
  /// The next message's slot; only where the layout has memory.
  std::byte* slot() const { return fifo_.memory + index_ * fifo_.stride_bytes; }
  /// Index of the next message's slot.
  uint64_t index() const { return index_; }
  /// The slot of a message that was sent and not given back; `message`: its number, from 1.
  std::byte* slot_of(uint64_t message) const {
    return fifo_.memory + (message - 1) % fifo_.slots * fifo_.stride_bytes;
  }
  /// Hands the next message over; only where there is room.
  void publish(size_t bytes, uint64_t note, const Signature& signature);

  uint64_t sent() const { return sent_; }
  /// Messages that the receiver has given back, as last seen.
  uint64_t seen_returned() const { return released_; }
  /// Whether the receiver has given back the first `messages` messages.
  bool returned(uint64_t messages) { return released_ >= messages || has_been_returned(messages); }
  /// That more is given back.
  Awaited awaited() const;
  /// An error where the receiver gave back more than was sent.
  Status check() const;

  /// What the receiver said last by say_away().
  bool is_receiver_away() const {
    return fifo_.slots != 0 && std::atomic_ref(fifo_.released->is_away).load(std::memory_order_relaxed) != 0;
  }

 private:
  bool has_been_given_room();
  bool has_been_returned(uint64_t messages);
  void load_released();

  FifoLayout fifo_;
  uint64_t sent_ = 0;
  uint64_t index_ = 0;     // sent_ % slots
  uint64_t released_ = 0;  // as last seen
};

class FifoReceiver {
 public:
  FifoReceiver() = default;  // of no slots
  explicit FifoReceiver(const FifoLayout& fifo) : fifo_(fifo) {}

  /// The oldest message that has arrived, or nothing; nothing as well where its header is broken: see
  /// check().
  const std::optional<Arrival>& peek() {
    // Pairs with the release store in FifoSender::publish().
    if (!arrival_ && ready(std::memory_order_acquire) == received_ + 1) take();
    return arrival_;
  }
  /// Looks for a moment, or until peek() has something to look at, and whether it has.
  bool linger() const {
    // Relaxed: peek() looks again.
    for (int look = 0; look < kLinger; ++look)
      if (ready(std::memory_order_relaxed) == received_ + 1) return true;
    return false;
  }
  /// The note of what peek() answered, and its number, from 1.
  uint64_t note() const { return note_; }
  uint64_t number() const { return received_ + 1; }
  /// Index of its slot.
  uint64_t index() const { return index_; }
  /// Gives the slot of what peek() answered back.
  void release();

  /// That the next message arrives; nothing while there is one.
  Awaited awaited() const;
  /// Tells the sender whether this end lets others run.
  void say_away(bool is_away) {
    if (fifo_.slots != 0) std::atomic_ref(fifo_.released->is_away).store(is_away, std::memory_order_relaxed);
  }

  /// An error where the sender's header cannot be true.
  Status check() const;

 private:
  static constexpr int kLinger = 64;  // looks

  /// The next slot's number; one that no message has where there are no slots.
  uint64_t ready(std::memory_order order) const {
    return fifo_.slots == 0 ? 0 : std::atomic_ref(fifo_.headers[index_].ready).load(order);
  }
  void take();
  uint64_t ready_before() const;

  FifoLayout fifo_;
  uint64_t received_ = 0;  // messages released
  uint64_t index_ = 0;     // received_ % slots
  uint64_t note_ = 0;
  // The header as it was when it was checked: the sender cannot change these any more.
  Signature signature_;
  std::optional<Arrival> arrival_;
  Status failure_;
};

/// Of a connection that is made of these.
inline Awaited awaited_of(Connection::Awaiting what, const FifoSender& sender, const FifoReceiver& receiver) {
  return what == Connection::Awaiting::Arrival ? receiver.awaited() : sender.awaited();
}

}  // namespace rondo
