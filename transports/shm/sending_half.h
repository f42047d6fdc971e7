// SPDX-License-Identifier: Apache-2.0
// SendingHalf: what one end of a shm connection sends: messages in slots of the Segment, and posted ones,
// which the peer reads from where they are. The functions are those of Connection and its parts, where they
// are described. Used by the connection's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/cancel_guard.h"
#include "common/fifo.h"
#include "shm/exports.h"
#include "shm/segment.h"
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

  std::byte* acquire() {
    if (!picker_.is_regular()) return acquire_irregular();
    if (!sender_.has_room()) return nullptr;
    ways_.hear(sender_.seen_returned());
    part_ = sender_.index();
    return fifo_.slot(part_, fifo_.slot_bytes);
  }
  void commit(size_t bytes, const Signature& signature) {
    publish_slot(bytes, false, signature);
    ways_.sent_by_slot(sender_.sent(), picker_);
  }
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
  std::byte* acquire_irregular();
  void use_part(size_t bytes);
  void publish_slot(size_t bytes, bool gradual, const Signature& signature);
  void copy_unread(uint64_t message);

  struct Posted {
    uint64_t message = 0;  // its number, from 1
    uint64_t part = 0;     // of the slots' memory
    const std::byte* data = nullptr;
    size_t bytes = 0;
  };

  ReadPeer read_peer_ = ReadPeer::Never;
  FifoLayout fifo_;
  FifoSender sender_;
  SlotPicker picker_;
  uint64_t part_ = 0;     // of the slots' memory, for the acquired slot
  uint64_t part_of_ = 0;  // for which message it was picked, until all are regular
  Exporter exporter_;
  SlotProgress* progress_ = nullptr;  // by slot
  SentWays ways_;
  size_t begun_ = 0;            // bytes of the message that is being written; 0: none
  bool is_overlapped_ = false;  // the receiver waits for that message, and reads it meanwhile
  CancelGuard posting_;
  uint64_t posted_ = 0;          // messages up to the last one that was posted
  uint64_t offers_ = 0;          // that are not over
  std::vector<Posted> by_slot_;  // each slot's latest message posted by address
};

}  // namespace rondo::shm
