// Segment: the memory that the two ends of a shm connection share, and its way from one process to the other.
//
//     SegmentHead | FIFO dialler -> acceptor | FIFO back      each FIFO: ReleasedCounter, WithdrawalWords,
//                                                                  LoanWords, headers, times, slots
//
// Slots begin at pages, and pages that are never used are never allocated. Used by the shm transport, on the
// connection's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/shared_segment.h"
#include "base/status.h"
#include "common/params.h"
#include "common/withdrawal.h"
#include "schedule/fifo_layout.h"
#include "shm/loans.h"

namespace rondo::shm {

inline constexpr uint32_t kMagic = 0x6d687352;  // "Rshm"
inline constexpr uint32_t kVersion = 5;

/// What goes over the socket with the memfd.
struct Description {
  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  uint64_t slot_bytes = 0;
  uint64_t slots = 0;
};
static_assert(sizeof(Description) == 24);

/// The first page: how the accepting end tells the dialling one that it wants other numbers.
struct SegmentHead {
  uint64_t refused = 0;  // atomic: 1 once the two below are written
  uint64_t slot_bytes = 0;
  uint64_t slots = 0;
};

class Segment {
 public:
  Segment() = default;

  SegmentHead* head() const { return reinterpret_cast<SegmentHead*>(memory_.data()); }
  /// 0: from the dialling end to the accepting one; 1: back.
  FifoLayout fifo(int direction, const AgreedParams& params) const;
  WithdrawalWords& withdrawal(int direction, const AgreedParams& params) const;
  LoanWords& loans(int direction, const AgreedParams& params) const;
  /// By slot, what the receiver's part of its latest message took, in ns; atomic.
  uint32_t* times(int direction, const AgreedParams& params) const;

  /// A new one, mapped here, and its memfd.
  struct Made;
  static Result<Made> make(const AgreedParams& params);
  /// Maps a memfd that came from the peer, after checking that it is what `params` need.
  static Result<Segment> map(const Fd& memfd, const AgreedParams& params);
  /// Tells the end that sent `memfd` that this end has other numbers.
  static Status refuse(const Fd& memfd, const AgreedParams& own);

 private:
  explicit Segment(SharedSegment memory) : memory_(std::move(memory)) {}

  std::byte* start(int direction, const AgreedParams& params) const;

  SharedSegment memory_;
};

struct Segment::Made {
  Segment segment;
  Fd memfd;
};

/// Sends the description and the descriptor; the peer's kernel keeps the memory from then on.
Status send_segment(const Fd& socket, const Description& description, const Fd& memfd);

struct Received {
  Description description;
  Fd memfd;
};
/// What send_segment() sent, or nothing while it has not arrived; never blocks.
Result<std::optional<Received>> receive_segment(const Fd& socket);

}  // namespace rondo::shm
