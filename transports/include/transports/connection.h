// Connection: a bounded FIFO of slots in each direction between two ranks, whatever lies under it.
//
// The sender acquires a slot, fills it and commits it; the receiver peeks at the oldest slot and releases it,
// which gives the sender its credit back. Nothing here blocks: what is not possible now answers null and is
// tried again by whoever drives the call. A connection has one sending and one receiving user at each end,
// and both are the same thread at a time (the executor that runs the call).
//
// No thread stands behind a connection: bytes move inside these calls. So whoever waits, for anything, also
// calls flushed() on every connection it has sent on until that is true; otherwise the rest of a message may
// lie in a tcp connection while all ranks wait for one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/doze.h"
#include "base/lendable.h"
#include "base/signature.h"
#include "base/status.h"

namespace rondo {

/// The oldest slot that has arrived; valid until it is released.
struct Arrival {
  const std::byte* data = nullptr;
  size_t bytes = 0;
  const Signature* signature = nullptr;
};

class Connection {
 public:
  virtual ~Connection() = default;

  /// Room for the next message, slot_bytes() long and aligned to 64 bytes; null while the peer has not
  /// released enough. Asking again gives the same slot until it is committed.
  virtual std::byte* acquire() = 0;
  struct Filling {
    bool streams = false;   // by stores that go past the caches
    bool is_timed = false;  // filled() is told
  };
  /// How the acquired slot is best filled with so many bytes. `could_post`: the message could be posted as
  /// well, if that were quicker.
  virtual Filling filling(size_t /*bytes*/, bool /*could_post*/) { return {}; }
  /// How long that took, before commit().
  virtual void filled(int64_t /*ns*/) {}
  /// Sends the acquired slot's first `bytes`.
  virtual void commit(size_t bytes, const Signature& signature) = 0;

  /// Tells the peer of memory that it can map; once it has, post() works for what lies there.
  virtual void lend(const Lendable& /*memory*/) {}
  enum class Posting {
    None,  // post() does not work
    Seen,  // the peer sees the bytes where they lie, or the kernel takes them from there
    Read,  // the peer copies them from there before it uses them; to where it expects them, if it does
  };
  /// How post() would bring these bytes to the peer, and None where a slot is quicker. They must stay as they
  /// are until flushed().
  virtual Posting posting(const std::byte* /*data*/, size_t /*bytes*/) const { return Posting::None; }
  bool can_post(const std::byte* data, size_t bytes) const { return posting(data, bytes) != Posting::None; }
  /// Sends `bytes` (at most slot_bytes()) at `data` without copying them to a slot; false where it cannot,
  /// or no slot is free now.
  virtual bool post(const std::byte* /*data*/, size_t /*bytes*/, const Signature& /*signature*/) {
    return false;
  }

  /// Whether all that was sent needs nothing more from this end: it has left, and posted memory has been
  /// read. Drives what is left to drive. May stay false until the other end has come.
  virtual bool flushed() = 0;
  /// Lets go of what peek() answered, because its call failed; the connection is of no use afterwards. On all
  /// connections of a call before withdraw() on any, since others may be in the same way.
  virtual void stop_reading() {}
  /// Takes back what was posted and not read yet and the place of what is expected, because a call failed and
  /// its buffers go back to their owner; the connection is of no use afterwards. The only call that may wait,
  /// and only for a peer in the middle of reading a posted slot, at the longest kWithdrawMs.
  virtual void withdraw() {}
  static constexpr int64_t kWithdrawMs = 100;

  /// A hint before peek(): where the oldest message is to be copied if it has so many bytes and this
  /// signature. A connection that can lets its bytes come there at once, and peek() answers that place. Holds
  /// for this message only, and until withdraw(); the place is the connection's meanwhile.
  virtual void expect(std::byte* /*place*/, size_t /*bytes*/, const Signature& /*signature*/) {}
  /// The oldest slot that has arrived and was not released, or nothing.
  virtual std::optional<Arrival> peek() = 0;
  /// Where it answered nothing, and what comes can be seen at no cost: spins for a moment, or until there is
  /// something. Whether there is.
  virtual bool linger() const { return false; }
  /// Whether that was the message all the time it was read: a sender that has waited for long may have taken
  /// it back.
  virtual bool intact() const { return true; }
  virtual void release() = 0;

  /// Where ranks outnumber CPUs: tells the peer whether this end lets others run on its CPU, and what the
  /// peer has told. Hints, which may be old.
  virtual void say_away(bool /*is_away*/) {}
  virtual bool is_peer_away() const { return false; }

  /// Sticky error. Checked only by a stalled waiter on this connection, since a finished peer may have closed
  /// it cleanly.
  virtual Status status() const { return {}; }
  /// Whether that error is only that the peer closed its end between two messages.
  virtual bool has_left() const { return false; }

  virtual size_t slot_bytes() const = 0;

  enum class Awaiting {
    Arrival,  // that peek() answers
    Room,     // that acquire() or flushed() does
  };
  /// What a thread that has just asked in vain may sleep for; nothing while that cannot be known. It may be
  /// woken for less: it asks again.
  virtual Awaited awaited(Awaiting what) const = 0;
};

}  // namespace rondo
