// SPDX-License-Identifier: Apache-2.0
// ZeroCopy: the optional part of a Connection that moves messages without a slot: from where they are (post)
// and to where they go (expect). Posted and copied messages share the connection's one order and its credits.
// Used by the connection's thread.
//
// A transport that has this part must implement post_mode(), post() and cancel(). The defaults of the others
// are those of a connection that needs no preparation, brings bytes only to places of its own, and finishes
// with the sender's memory before the receiver sees the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/exportable.h"
#include "base/signature.h"

namespace rondo {

class ZeroCopy {
 public:
  // The sending end:

  /// Once connected: why messages cannot leave from memory of the rank's GPU, nor go there; empty: they can,
  /// where such memory can be registered.
  virtual std::string gpu_obstacle() const { return "the transport does not reach it"; }
  /// Offers the peer memory to map; once mapped, post() works for data in it.
  virtual void export_memory(const ExportableMemory& /*memory*/) {}
  enum class PostMode {
    None,    // post() does not work
    Mapped,  // the peer accesses the bytes in place, or the kernel takes them from there
    Read,    // the peer first copies them: to the address given to expect(), if any
  };
  /// How post() would bring these bytes to the peer; None if a slot is faster.
  virtual PostMode post_mode(const std::byte* data, size_t bytes) const = 0;
  bool can_post(const std::byte* data, size_t bytes) const {
    return post_mode(data, bytes) != PostMode::None;
  }
  /// Sends `bytes` (at most slot_bytes()) at `data` without copying them to a slot; false if it cannot, or if
  /// no slot is free now. The bytes must stay unchanged until flushed().
  virtual bool post(const std::byte* data, size_t bytes, const Signature& signature) = 0;
  /// How many of the latest messages may still be read from where they are, so that the bytes of those before
  /// may change; empty if only flushed() tells.
  virtual std::optional<size_t> held() const { return std::nullopt; }

  /// Lets the peer fetch `bytes`, of any number, at `data`, which must stay unchanged until end_offer() or
  /// cancel(). Returns what the peer needs to know for it; 0: it cannot.
  virtual uint64_t offer(const std::byte* /*data*/, size_t /*bytes*/) { return 0; }
  /// The peer has told that it is done with one of the offers.
  virtual void end_offer() {}

  // The receiving end:

  enum class Fetched {
    Done,
    Refused,    // the memory is out of reach, or was never offered; `place` may have changed
    Cancelled,  // the peer has called cancel(); `place` may have changed
  };
  /// Copies bytes that the peer offered, from the `begin`th on.
  virtual Fetched fetch(uint64_t /*offer*/, size_t /*begin*/, std::byte* /*place*/, size_t /*bytes*/) {
    return Fetched::Refused;
  }

  /// Whether what is offered shall be fetched even if other ways are faster.
  virtual bool fetches_all() const { return false; }
  /// Whether to fetch is probably faster than to receive through slots, as long as neither was timed.
  virtual bool fetches_quickly() const { return false; }

  /// A hint before peek(): the destination of the oldest message if it has this size and signature. A
  /// connection that can receives the bytes directly there, and peek() returns that address. Applies to this
  /// message only, and until cancel(); meanwhile the connection owns `place`. The caller takes the next
  /// message, whatever it is.
  virtual void expect(std::byte* /*place*/, size_t /*bytes*/, const Signature& /*signature*/) {}
  // Hints about messages that come later, to memory that was registered (ExportableMemory) and that the
  // connection owns from then on, as with expect(). A connection that takes them may bring the bytes there
  // before peek() is called, and needs no other hint; one that comes too late costs a copy. A connection is
  // given either hints by number or hints by signature: with both, its ends could disagree.

  /// How many more messages expect_next() can be called for; empty where hints are in vain.
  virtual std::optional<size_t> room_ahead() const { return std::nullopt; }
  /// By number: the destination, or null, of the next message, that is the oldest one that has not been
  /// released and for which this was not called yet. Without a signature: whatever message of up to `bytes`
  /// it is.
  virtual void expect_next(std::byte* /*place*/, size_t /*bytes*/, const Signature* /*signature*/) {}
  /// By signature: the destination of all messages with this one that the peer will send once it has received
  /// what this end sends next. They have `bytes` in all, and go there one behind the other.
  virtual void expect_all(std::byte* /*place*/, size_t /*bytes*/, const Signature& /*signature*/) {}
  /// Whether the message that peek() returned stayed valid while it was read: a sender that has waited too
  /// long may cancel it.
  virtual bool intact() const { return true; }

  // Both ends, because a call failed and its buffers return to their owner; the connection is unusable
  // afterwards:

  /// Gives up the arrival that peek() returned. Called on all of a call's connections before cancel() on any:
  /// peers may be cancelling too.
  virtual void stop_reading() {}
  /// Withdraws posted messages that have not been read and the addresses given to expect() and the like. The
  /// only call that may wait: only for a peer that is reading a posted slot, and at most kCancelMs.
  virtual void cancel() = 0;
  static constexpr int64_t kCancelMs = 100;

 protected:
  ~ZeroCopy() = default;
};

}  // namespace rondo
