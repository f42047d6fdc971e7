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
  uint32_t has_asked = 0;    // 1: `asked` is the call of the number that was asked about
  uint32_t finished = 0;     // 1: it has called rondo_finalize() and makes no more calls
  uint32_t elsewhere = 0;  // 1: its process is in a call of another communicator, or waits at the end of one
  Signature asked;
  Signature last;  // the latest call, where there was one

  static Activity of(const Board& board, uint32_t sequence);
};

/// Asks rank `rank` (of the session) about its call number `sequence`. Timeout where it does not answer.
Result<Activity> inquire(Session& session, int rank, uint64_t communicator, uint32_t sequence,
                         const Deadline& deadline, const Interrupt& interrupt);

}  // namespace rondo
