// SPDX-License-Identifier: Apache-2.0
// ReceivingHalf: what one end of a shm connection receives. Slots and words are the peer's to write, and
// believed only as far as they are checked. The functions are those of Connection and its parts, where they
// are described. Used by the connection's thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/aligned_bytes.h"
#include "common/cancel_guard.h"
#include "common/fifo.h"
#include "shm/exports.h"
#include "shm/segment.h"
#include "shm/sending_half.h"
#include "shm/ways.h"
#include "transports/zero_copy.h"

namespace rondo::shm {

class ReceivingHalf {
 public:
  ReceivingHalf() = default;  // no slots
  ReceivingHalf(const Segment& segment, int direction, const AgreedParams& params, ReadPeer read_peer);

  /// Maps what the peer exports.
  void hear(const Fd& socket) {
    if (mapped_.has_news()) hear_news(socket);
  }
  const Arrival* peek();
  /// `sending` answers what this half receives.
  void be_answered(SendingHalf& sending, Partner partner);
  void release() {
    taken_time_.end(receiver_.index());
    const uint64_t note = receiver_.note();
    if (!Note::is_in_ring(note) || arrival_.bytes >= MovingParts::kLeast)
      answering_->received(receiver_.number(), note, arrival_.bytes);
    receiver_.keep();
    if (!Note::is_in_ring(note) || receiver_.kept() > Segment::kOwed) return_credits();
    expected_.place = nullptr;
    stop_reading();
  }
  /// Those of short messages, of which there are many, are returned together: the sender may be polling for
  /// them.
  void return_credits() {
    if (receiver_.kept() != 0) receiver_.return_all_but(0);
  }
  Status check() const;
  FifoReceiver& fifo() { return receiver_; }
  const FifoReceiver& fifo() const { return receiver_; }

  // ZeroCopy:
  ZeroCopy::Fetched fetch(uint64_t offer, size_t begin, std::byte* place, size_t bytes);
  void expect(std::byte* place, size_t bytes, const Signature& signature) {
    expected_ = {place, bytes, signature};
  }
  void stop_expecting() { expected_.place = nullptr; }
  bool intact() const { return reading_.is_undisturbed(); }
  void stop_reading() {
    reading_.end_reading();
    mapped_slot_ = nullptr;
  }

  // GradualSlots:
  const Arrival* peek_begun();
  size_t bytes_there(size_t seen);

  // WaitHints:
  bool poll_briefly() const { return unread_ != receiver_.number() && receiver_.poll_briefly(); }

 private:
  void hear_news(const Fd& socket);
  const std::byte* find(const Arrival& oldest, bool is_new);
  void map_slot(const Arrival& arrival);
  Result<const std::byte*> find_mapped(const Arrival& arrival);
  Result<const std::byte*> read_mapped(const Arrival& arrival);
  Status no_part(uint64_t part, uint64_t parts) const;
  const std::byte* find_in_ring(size_t begin, size_t bytes, bool is_new);
  /// Of the current arrival, which is being written to its slot.
  size_t written() const;

  struct PlacedReceive {
    std::byte* place = nullptr;
    size_t bytes = 0;
    Signature signature;
  };

  SlotParts slots_;
  SendingHalf* answering_ = nullptr;
  KeptParts kept_;
  const std::byte* short_ring_ = nullptr;
  FifoReceiver receiver_;
  Arrival arrival_;  // the current one
  MappingCache mapped_;
  SlotProgress* progress_ = nullptr;  // by header
  TakenTime taken_time_;
  CancelGuard reading_;
  const std::byte* mapped_slot_ = nullptr;  // bytes of the current arrival, if it was posted
  PlacedReceive expected_;
  size_t slot_bytes_ = 0;
  AlignedBytes brought_;  // slot-sized: a message that was read without a matching expect()
  uint64_t unread_ = 0;   // number of the message that the peer is asked to copy into its slot
  Status failure_;
};

}  // namespace rondo::shm
