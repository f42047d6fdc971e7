// SPDX-License-Identifier: Apache-2.0
// Pair: the state that both ends of an in-process connection share, and MeetingPlace, which matches the ends.
// The first end is registered under its ConnectionKey; the second removes the entry. meet() is thread-safe;
// the two ends own their Pair jointly.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "common/aligned_bytes.h"
#include "common/cancel_guard.h"
#include "common/fifo.h"
#include "common/params.h"

namespace rondo {

/// One direction.
struct PairedFifo {
  std::vector<SlotHeader> headers;
  ReleasedCounter released;
  AlignedBytes memory;  // for the slots; local: allocated by the sender on first use, and used only by it
  CancelWords cancel_words;

  /// `slots`: null if messages are sent by address.
  FifoLayout layout(const AgreedParams& params, std::byte* slots = nullptr);
};

struct Pair {
  Pair(const AgreedParams& of_first, bool with_memory);

  AgreedParams params;             // the first end's; both ends' when they agree
  AgreedParams refused;            // the second end's, when they don't
  std::array<PairedFifo, 2> fifo;  // [0] from the dialler to the acceptor, [1] back
  enum class Meeting { OneHere, BothHere, Refused };
  std::atomic<Meeting> meeting = Meeting::OneHere;

  PairedFifo& outgoing(bool dials) { return fifo[dials ? 0 : 1]; }
  PairedFifo& incoming(bool dials) { return fifo[dials ? 1 : 0]; }
  bool both_here() const;
  /// For the first end: Mismatch if the second end has other parameters.
  Status status() const;
};

/// Matches the two ends of connections; each in-process transport has its own.
class MeetingPlace {
 public:
  /// `with_memory`: each Pair allocates memory for its slots.
  explicit MeetingPlace(bool with_memory);
  ~MeetingPlace();

  /// The Pair of `key`, created by the first caller. `dials`: called by the dialling end.
  Result<std::shared_ptr<Pair>> meet(const ConnectionKey& key, bool dials, const ConnectionParams& params);

 private:
  struct Waiting;
  bool with_memory_;
  std::unique_ptr<Waiting> waiting_;
};

}  // namespace rondo
