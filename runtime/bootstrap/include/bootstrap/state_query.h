// SPDX-License-Identifier: Apache-2.0
// State query: asks a rank that this one waits for what it is doing, so that a long wait can be explained.
// Any thread.
#pragma once

#include "health/flight_recorder.h"
#include "net/socket.h"

namespace rondo {

class Session;

/// A rank's answer about a communicator, from its FlightRecorder.
struct PeerState {
  static constexpr uint64_t kUnknownSent = UINT64_MAX;
  static constexpr uint32_t kNeverMoved = UINT32_MAX;
  static constexpr uint32_t kCalls = 16;  // the latest of those that a FlightRecorder has

  uint32_t known = 0;        // 0: it has no such communicator (yet, or any more)
  uint32_t left = 0;         // 1: it had such a communicator, and called rondo_leave()
  uint32_t latest = 0;       // the sequence number of its latest call
  uint32_t inside = 0;       // 1: still in it
  int32_t waiting_for = -1;  // rank of the communicator
  uint32_t finished = 0;     // 1: it has called rondo_finalize() and makes no more calls; also if not known
  uint32_t quiesced = 0;     // 1: the same, by rondo_quiesce() so far
  uint32_t elsewhere = 0;  // 1: its process is in a call on another communicator, or is waiting to finish one
  uint32_t moved_ms = kNeverMoved;  // since something that it waits for has moved
  uint64_t sent = 0;  // once finished: the number of messages it has sent to the asker, if still known
  std::array<Signature, kCalls> calls;
  PendingMessages messages;  // that it waits for; once finished: sends that it ended

  /// `asker`: a rank of the communicator, or -1.
  static PeerState of(const FlightRecorder& recorder, int asker);
  /// The call with that sequence number, if it is still recorded.
  std::optional<Signature> call(uint32_t sequence) const;
  Signature last() const { return call(latest).value_or(Signature()); }
  bool waits() const { return inside != 0 || (finished == 0 && !messages.none()); }
  /// The rank (of the communicator) that it waits for; -1: none known.
  int waits_for() const;
};

struct PeerStates {
  PeerState here;      // on the communicator asked about
  uint64_t other = 0;  // another communicator on which the rank waits; 0: none
  PeerState there;     // on that one
};

/// A live rank's service thread answers in microseconds; a stopped process never does.
inline constexpr int64_t kAnswer_ms = 500;

/// Asks rank `rank` (of the session) about a communicator. Timeout if it does not answer, RemoteError if it
/// is gone, SystemError if this process cannot ask.
Result<PeerStates> inquire(Session& session, int rank, uint64_t communicator, const Deadline& deadline,
                           const Interrupt& interrupt);

}  // namespace rondo
