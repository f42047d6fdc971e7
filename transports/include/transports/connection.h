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
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/exportable.h"
#include "base/park.h"
#include "base/signature.h"
#include "base/status.h"

namespace rondo {

/// The oldest slot that has arrived; valid until released.
struct Arrival {
  const std::byte* data = nullptr;
  size_t bytes = 0;
  const Signature* signature = nullptr;
};

class Connection {
 public:
  virtual ~Connection() = default;

  /// A slot for the next message, slot_bytes() long and aligned to 64 bytes; null while the peer has not
  /// released enough. Repeated calls return the same slot until it is committed.
  virtual std::byte* acquire() = 0;
  struct Filling {
    bool streams = false;   // use non-temporal stores
    bool is_timed = false;  // report the time to filled()
  };
  /// The best way to fill the acquired slot with `bytes`. `could_post`: post() would also be possible, if it
  /// were faster.
  virtual Filling filling(size_t /*bytes*/, bool /*could_post*/) { return {}; }
  /// Reports how long filling the slot took; called before commit().
  virtual void filled(int64_t /*ns*/) {}
  /// Sends the acquired slot's first `bytes`.
  virtual void commit(size_t bytes, const Signature& signature) = 0;

  /// Offers the peer memory to map; once mapped, post() works for data in it.
  virtual void export_memory(const ExportableMemory& /*memory*/) {}
  enum class ZeroCopy {
    None,    // post() does not work
    Mapped,  // the peer accesses the bytes in place, or the kernel takes them from there
    Read,    // the peer first copies them: to the address given to expect(), if any
  };
  /// How post() would bring these bytes to the peer; None if a slot is faster. Posted bytes must stay
  /// unchanged until flushed().
  virtual ZeroCopy zero_copy(const std::byte* /*data*/, size_t /*bytes*/) const { return ZeroCopy::None; }
  bool can_post(const std::byte* data, size_t bytes) const {
    return zero_copy(data, bytes) != ZeroCopy::None;
  }
  /// Sends `bytes` (at most slot_bytes()) at `data` without copying them to a slot; false if it cannot, or if
  /// no slot is free now.
  virtual bool post(const std::byte* /*data*/, size_t /*bytes*/, const Signature& /*signature*/) {
    return false;
  }

  /// Makes progress on pending sends; true once they need nothing more from this end: all bytes have left,
  /// and the peer has read all posted memory. May stay false until the other end has connected.
  virtual bool flushed() = 0;
  /// Gives up the arrival that peek() returned, because its call failed; the connection is unusable
  /// afterwards. Called on all of a call's connections before cancel() on any: peers may be cancelling too.
  virtual void stop_reading() {}
  /// Withdraws posted messages that have not been read and the address given to expect(), because a call
  /// failed and its buffers return to their owner; the connection is unusable afterwards. The only call that
  /// may wait: only for a peer that is reading a posted slot, and at most kCancelMs.
  virtual void cancel() {}
  static constexpr int64_t kCancelMs = 100;

  /// A hint before peek(): the destination of the oldest message if it has this size and signature. A
  /// connection that can receives the bytes directly there, and peek() returns that address. Applies to this
  /// message only, and until cancel(); meanwhile the connection owns `place`.
  virtual void expect(std::byte* /*place*/, size_t /*bytes*/, const Signature& /*signature*/) {}
  /// The oldest slot that has arrived and has not been released, if any.
  virtual std::optional<Arrival> peek() = 0;
  /// After an empty peek(), if polling is free of system calls: polls briefly. True if a message has arrived.
  virtual bool poll_briefly() const { return false; }
  /// Whether the message stayed valid while it was read: a sender that has waited too long may cancel it.
  virtual bool intact() const { return true; }
  virtual void release() = 0;

  /// Hints for when ranks outnumber CPUs: whether this end yields its CPU, as told to the peer, and what the
  /// peer has told. Either may be stale.
  virtual void set_yielding(bool /*is_yielding*/) {}
  virtual bool is_peer_yielding() const { return false; }

  /// Sticky error. Checked only by a stalled waiter on this connection, since a finished peer may have closed
  /// it cleanly.
  virtual Status status() const { return {}; }
  /// Whether the error is only that the peer closed its end between two messages.
  virtual bool has_left() const { return false; }

  virtual size_t slot_bytes() const = 0;

  enum class Awaiting {
    Arrival,  // a successful peek()
    Room,     // a successful acquire() or flushed()
  };
  /// What a thread may sleep on after an unsuccessful call; empty while that is unknown. Wakeups may be
  /// spurious: the caller retries.
  virtual Awaited awaited(Awaiting what) const = 0;
};

}  // namespace rondo
