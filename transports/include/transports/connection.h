// SPDX-License-Identifier: Apache-2.0
// Connection: a bounded FIFO of slots in each direction between two ranks, over any transport.
//
// The sender acquires a slot, fills it and commits it; the receiver peeks at the oldest slot and releases it,
// which returns the sender's credit. Nothing here blocks: a call that cannot proceed now returns null, and
// the caller retries. Each end has one sending and one receiving user, and at any time both are the same
// thread (the executor that runs the call).
//
// A connection has no thread of its own: bytes move only inside these calls. A waiting thread, whatever it
// waits for, must therefore keep calling flushed() on every connection it has sent on until that returns
// true; otherwise the rest of a message may sit in a tcp connection while all ranks wait for one another.
//
// A transport must implement the seven pure functions. What only some can do is in classes of its own, which
// a connection passes to the constructor (ConnectionParts); users do without a part that is null. Getting a
// part is no virtual call, so it may be done for each message.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/park.h"
#include "base/signature.h"
#include "base/status.h"

namespace rondo {

class FillHints;
class GradualSlots;
class WaitHints;
class ZeroCopy;

/// The oldest slot that has arrived; valid until released.
struct Arrival {
  const std::byte* data = nullptr;
  size_t bytes = 0;
  const Signature* signature = nullptr;
};

/// The optional parts of a connection: usually bases of its class, which then passes `this`. They live as
/// long as the connection and belong to its thread.
struct ConnectionParts {
  ZeroCopy* zero_copy = nullptr;          // null: every message is copied through a slot
  FillHints* fill_hints = nullptr;        // null: slots are filled by plain stores
  GradualSlots* gradual_slots = nullptr;  // null: a message is read when all of it is there
  WaitHints* wait_hints = nullptr;  // null: a waiting thread polls by peek(), and knows nothing of its peer
};

class Connection {
 public:
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The length of the longest message.
  size_t slot_bytes() const { return slot_bytes_; }
  /// Null: the connection lacks the part.
  ZeroCopy* zero_copy() const { return parts_.zero_copy; }
  FillHints* fill_hints() const { return parts_.fill_hints; }
  GradualSlots* gradual_slots() const { return parts_.gradual_slots; }
  WaitHints* wait_hints() const { return parts_.wait_hints; }

  /// A slot for the next message, of at most `bytes`, aligned to 64 bytes; null while the peer has not
  /// released enough. There are as many as ConnectionParams says, and may be more for short messages.
  /// Repeated calls return the same slot until it is committed; with another length they may return another
  /// one instead.
  virtual std::byte* acquire(size_t bytes) = 0;
  /// A slot for a message of any length.
  std::byte* acquire() { return acquire(slot_bytes_); }
  /// Sends the acquired slot's first `bytes`.
  virtual void commit(size_t bytes, const Signature& signature) = 0;
  /// Makes progress on pending sends; true once they need nothing more from this end: all bytes have left,
  /// and the peer has read all posted memory. May stay false until the other end has connected. Also called
  /// after the last release() of a long message: its sender may wait to hear of it.
  virtual bool flushed() = 0;

  /// The oldest slot that has arrived and has not been released; null: none.
  virtual const Arrival* peek() = 0;
  virtual void release() = 0;

  /// Sticky error. Checked only by a stalled waiter on this connection, since a finished peer may have closed
  /// it cleanly.
  virtual Status status() const = 0;
  /// Whether the error is only that the peer closed its end between two messages. False where that is no
  /// error, as in shared memory.
  virtual bool has_left() const { return false; }

  /// Answers the peer if it has lost its way to this end, even though nothing is sent or received now. Called
  /// now and then by a thread that waits for something else: the peer may be what that waits for.
  virtual void look() {}

  /// What this end sends here answers what it receives over `incoming`, another connection with the same peer
  /// that has the same thread and lives as long; the peer may be told so, too. Each of the two is for one
  /// direction: the other way only messages of less than 1 KiB go. For transports that can use it.
  virtual void answer(Connection& /*incoming*/) {}

  /// By which transport, ports, addresses and the like the ends are connected, for a person; empty while
  /// there is nothing to say beyond the transport.
  virtual std::string describe() const { return {}; }

  /// Whether the status is that both ends know that this transport cannot connect them, at first or any more.
  /// What has arrived can still be received; another transport may carry the rest.
  virtual bool is_refused() const { return false; }
  struct Unsent {
    const std::byte* data = nullptr;
    size_t bytes = 0;
    const Signature* signature = nullptr;
  };
  /// Once is_refused(): the nth message, from 0, of those that were committed and have not arrived at the
  /// peer; empty if there are no more. Later commits add to them. Valid as long as the connection.
  virtual std::optional<Unsent> unsent(size_t /*nth*/) const { return std::nullopt; }

  enum class Awaiting {
    Arrival,  // a successful peek()
    Room,     // a successful acquire() or flushed()
  };
  /// What a thread may sleep on after an unsuccessful call; empty while that is unknown. Wakeups may be
  /// spurious: the caller retries.
  virtual Awaited awaited(Awaiting what) const = 0;

 protected:
  explicit Connection(size_t slot_bytes, const ConnectionParts& parts = {})
      : slot_bytes_(slot_bytes), parts_(parts) {}

 private:
  const size_t slot_bytes_;
  const ConnectionParts parts_;
};

}  // namespace rondo
