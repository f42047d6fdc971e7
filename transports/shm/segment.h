// SPDX-License-Identifier: Apache-2.0
// Segment: the memory that the two ends of a shm connection share, and how it is passed between processes.
//
//     SegmentHead | FIFO dialler -> acceptor | FIFO back      each FIFO: ReleasedCounter, CancelWords,
//                                                                  ExportWords, headers, progress, times,
//                                                                  ShortRing, slots
//
// A message's header is the one whose turn it is. Its bytes are in the ring if they are few, and else in any
// of the slots, of which there may be fewer than headers. Slots are page-aligned, and pages that are never
// used are never allocated. Used by the shm transport, on the connection's thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/fd.h"
#include "base/shared_segment.h"
#include "base/status.h"
#include "common/cancel_guard.h"
#include "common/params.h"
#include "schedule/fifo_layout.h"
#include "shm/exports.h"
#include "shm/moving_parts.h"

namespace rondo::shm {

inline constexpr uint32_t kMagic = 0x6d687352;  // "Rshm"
inline constexpr uint32_t kVersion = 7;

/// Sent over the socket with the memfd.
struct Description {
  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  uint64_t slot_bytes = 0;
  uint64_t slots = 0;
};
static_assert(sizeof(Description) == 24);

/// The first page, in which the accepting end reports its own parameters if they differ.
struct SegmentHead {
  uint64_t refused = 0;  // atomic: 1 once the two below have been written
  uint64_t slot_bytes = 0;
  uint64_t slots = 0;
};

/// How much of a message that is being written is in its slot: the lower halves of its number, from 1, and of
/// the number of bytes, in one word.
struct alignas(64) SlotProgress {
  uint64_t word = 0;  // atomic

  static constexpr uint64_t of(uint64_t message, size_t bytes) { return message << 32 | bytes; }
  /// 0 of another message.
  static constexpr size_t bytes(uint64_t word, uint64_t message) {
    return word >> 32 == (message & UINT32_MAX) ? word & UINT32_MAX : 0;
  }
};

/// The slots' memory, in parts of one slot each.
struct SlotParts {
  std::byte* first = nullptr;
  uint64_t stride_bytes = 0;
  uint64_t parts = 0;

  std::byte* part(uint64_t index) const { return first + index * stride_bytes; }
};

class Segment {
 public:
  Segment() = default;

  SegmentHead* head() const { return reinterpret_cast<SegmentHead*>(memory_.data()); }
  /// How many credits of short messages a receiver may owe.
  static constexpr uint64_t kOwed = 7;
  /// How many messages can be in flight in a direction, long and short. Credits that are owed leave the
  /// sender as many as there are slots.
  static uint64_t messages(const AgreedParams& params) { return std::max(params.slots + kOwed, kMessages); }

  /// Direction 0: from the dialling end to the accepting one; 1: back. A note says where a message's bytes
  /// are.
  FifoLayout fifo(int direction, const AgreedParams& params) const;
  CancelWords& cancel_words(int direction, const AgreedParams& params) const;
  ExportWords& exports(int direction, const AgreedParams& params) const;
  /// MovingParts::kMost parts more than there are slots.
  SlotParts slots(int direction, const AgreedParams& params) const;
  std::byte* short_ring(int direction, const AgreedParams& params) const;
  /// What every message uses, and the ring's first bytes, which the first short ones do.
  std::span<std::byte> first_pages(int direction, const AgreedParams& params) const;
  /// By header.
  SlotProgress* progress(int direction, const AgreedParams& params) const;
  /// By header: the receiver's time for its latest message, in ns; atomic.
  uint32_t* times(int direction, const AgreedParams& params) const;
  KeptParts kept(int direction, const AgreedParams& params) const;

  /// Creates and maps a segment; also returns its memfd.
  struct Made;
  static Result<Made> make(const AgreedParams& params);
  /// Maps a memfd received from the peer, after checking it against `params`.
  static Result<Segment> map(const Fd& memfd, const AgreedParams& params);
  /// Tells the end that sent `memfd` that this end's parameters differ.
  static Status refuse(const Fd& memfd, const AgreedParams& own);

 private:
  static constexpr uint64_t kMessages = 64;

  explicit Segment(SharedSegment memory) : memory_(std::move(memory)) {}

  std::byte* start(int direction, const AgreedParams& params) const;

  SharedSegment memory_;
};

struct Segment::Made {
  Segment segment;
  Fd memfd;
};

/// Sends the description and the descriptor; from then on the kernel keeps the memory alive for the peer.
Status send_segment(const Fd& socket, const Description& description, const Fd& memfd);

struct Received {
  Description description;
  Fd memfd;
};
/// Receives what send_segment() sent, or nothing if it has not arrived; never blocks.
Result<std::optional<Received>> receive_segment(const Fd& socket);

}  // namespace rondo::shm
