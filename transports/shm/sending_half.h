// SPDX-License-Identifier: Apache-2.0
// SendingHalf: what one end of a shm connection sends: messages in slots of the Segment, and posted ones,
// which the peer reads from where they are. The functions are those of Connection and its parts, where they
// are described. Used by the connection's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/cancel_guard.h"
#include "common/fifo.h"
#include "shm/exports.h"
#include "shm/moving_parts.h"
#include "shm/segment.h"
#include "shm/short_ring.h"
#include "shm/slot_picker.h"
#include "shm/ways.h"
#include "transports/hints.h"
#include "transports/zero_copy.h"

namespace rondo::shm {

class SendingHalf {
 public:
  SendingHalf() = default;  // no slots
  /// `socket`: of the connection, over which the peer is let read this process, unless it never does.
  SendingHalf(const Segment& segment, int direction, const AgreedParams& params, ReadPeer read_peer,
              const Fd& socket);

  std::byte* acquire(size_t bytes) {
    if (!sender_.has_room()) return nullptr;
    const bool is_answer = bytes >= MovingParts::kLeast && moving_.answers();
    in_ring_ = bytes < ring_below_ && !is_answer ? find_in_ring(bytes) : ShortRing::kNowhere;
    std::byte* const slot = is_in_ring() ? short_ring_ + in_ring_ : acquire_part(bytes);
    return sender_.has_room() ? slot : nullptr;  // the peer may have returned more than it got
  }
  void commit(size_t bytes, const Signature& signature) {
    if (is_in_ring()) {
      sender_.publish(bytes, Note::in_ring(in_ring_), signature);
      if (bytes >= MovingParts::kLeast) moving_.sent();
      if (ring_.use(bytes, sender_.sent())) [[unlikely]]
        touch({short_ring_, ShortRing::kBytes});
      return;
    }
    publish_part(bytes, false, signature);
    ways_.sent_by_slot(sender_.sent(), picker_);
  }
  /// What this end sends from now on may lie in parts of the peer's that it has received in that direction of
  /// that segment, with which it connects the two as well.
  void answer(const Segment& segment, int direction, const AgreedParams& params, Partner partner);
  /// This end has read the peer's message, and is about to release it.
  void received(uint64_t message, uint64_t note, size_t bytes);
  /// Only posted messages count: the peer, or a socket in transit, holds the memory of the slots. As last
  /// loaded:
  bool is_flushed() const { return sender_.seen_returned() >= posted_; }
  /// The same now; first does what the peer asks for.
  bool flushed() {
    if (const uint64_t unread = exporter_.unread()) copy_unread(unread);
    return sender_.returned(posted_);
  }
  Status check() const { return sender_.check(); }
  const FifoSender& fifo() const { return sender_; }
  /// The memory of a part of this end's slots.
  std::byte* part(uint64_t index) const { return slots_.part(index); }

  // ZeroCopy:
  void export_memory(const ExportableMemory& memory, const Fd& socket) {
    exporter_.export_memory(memory, socket);
  }
  ZeroCopy::PostMode post_mode(const std::byte* data, size_t bytes) const;
  bool post(const std::byte* data, size_t bytes, const Signature& signature);
  uint64_t offer(const std::byte* data, size_t bytes);
  void end_offer() { --offers_; }
  /// Withdraws posted and offered messages only: the peer may still read those in slots.
  void cancel();

  // FillHints:
  FillHints::Filling filling(size_t bytes, bool could_post) {
    return ways_.filling(sender_.sent() + 1, bytes, could_post, picker_);
  }
  void filled(int64_t ns) { ways_.filled(ns, is_overlapped_); }

  // GradualSlots:
  void begin(size_t bytes, const Signature& signature);
  void grown(size_t bytes);

 private:
  bool is_in_ring() const { return in_ring_ != ShortRing::kNowhere; }
  size_t find_in_ring(size_t bytes) {
    const size_t begin = ring_.find(bytes, sender_.seen_returned());
    if (begin != ShortRing::kNowhere) return begin;
    sender_.returned(sender_.sent());
    return ring_.find(bytes, sender_.seen_returned());
  }
  std::byte* acquire_part(size_t bytes);
  bool pick_latest(size_t bytes);
  bool pick_own();
  bool has_own();
  std::byte* memory_of(const SlotPart& part) const {
    return (part.is_own ? slots_ : peers_slots_).part(part.index);
  }
  static void touch(std::span<std::byte> pages);
  void use_part(size_t bytes);
  void publish_part(size_t bytes, bool gradual, const Signature& signature);
  void copy_unread(uint64_t message);

  struct Picked {
    uint64_t message = 0;  // for which it was picked, from 1
    SlotPart part;
    uint64_t slot = 0;       // with that part, if it is this end's
    bool is_latest = false;  // the part is moving_.latest()
  };
  struct Posted {
    uint64_t message = 0;  // its number, from 1
    uint64_t part = 0;     // of this end's slots
    const std::byte* data = nullptr;
    size_t bytes = 0;
  };

  ReadPeer read_peer_ = ReadPeer::Never;
  FifoSender sender_;
  std::byte* short_ring_ = nullptr;
  ShortRing ring_;
  size_t ring_below_ = 0;                 // shorter messages may lie in it
  size_t in_ring_ = ShortRing::kNowhere;  // where the acquired slot is, if it is there
  SlotParts slots_;
  SlotParts peers_slots_;
  SlotPicker picker_;
  MovingParts moving_;
  Picked picked_;
  uint64_t in_flight_ = 0;  // how many messages can be
  Exporter exporter_;
  SlotProgress* progress_ = nullptr;  // by header
  SentWays ways_;
  size_t begun_ = 0;            // bytes of the message that is being written; 0: none
  bool is_overlapped_ = false;  // the receiver waits for that message, and reads it meanwhile
  CancelGuard posting_;
  uint64_t posted_ = 0;            // messages up to the last one that was posted
  uint64_t offers_ = 0;            // that are not over
  std::vector<Posted> by_header_;  // each one's latest message posted by address
};

}  // namespace rondo::shm
