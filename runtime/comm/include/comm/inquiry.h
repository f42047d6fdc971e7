// Inquiry: asks a rank that is waited for what it is doing, so that a wait that lasts can say why. Any
// thread.
#pragma once

#include "comm/board.h"
#include "comm/socket.h"

namespace rondo {

class Session;

/// What a rank answers about a communicator, from its Board.
struct Activity {
  uint32_t known = 0;        // 0: it has no such communicator (yet, or any more)
  uint32_t latest = 0;       // the number of its latest call
  uint32_t inside = 0;       // 1: still in it
  int32_t waiting_for = -1;  // rank of the communicator
  uint32_t finished = 0;     // 1: it has called rondo_finalize() and makes no more calls
  uint32_t elsewhere = 0;  // 1: its process is in a call of another communicator, or waits at the end of one
  uint64_t sent = 0;       // where it has finished: how many messages it has sent to the asker
  std::array<Signature, Board::kRemembered> calls;
  PendingMessages messages;

  /// `asker`: a rank of the communicator, or -1.
  static Activity of(const Board& board, int asker);
  /// The call of that number, if it is remembered.
  std::optional<Signature> call(uint32_t sequence) const;
  Signature last() const { return call(latest).value_or(Signature()); }
  bool waits() const { return inside != 0 || !messages.none(); }
  /// The rank (of the communicator) that it waits for; -1: none known.
  int waits_for() const;
};

struct Activities {
  Activity here;       // on the communicator that was asked about
  uint64_t other = 0;  // another one on which the rank waits; 0: on none
  Activity there;      // on that one
};

/// A live rank's service thread answers in microseconds; a stopped process never does.
inline constexpr int64_t kAnswer_ms = 500;

/// Asks rank `rank` (of the session) about a communicator. Timeout where it does not answer.
Result<Activities> inquire(Session& session, int rank, uint64_t communicator, const Deadline& deadline,
                           const Interrupt& interrupt);

}  // namespace rondo
