// SPDX-License-Identifier: Apache-2.0
// FillHints and WaitHints: optional parts of a Connection by which it tells its user how to save time.
// Results never depend on them. Used by the connection's thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo {

/// How to fill slots, for a connection that learns it from the time that earlier messages took.
class FillHints {
 public:
  struct Filling {
    bool streams = false;   // use non-temporal stores
    bool is_timed = false;  // report the time to filled()
  };
  /// The best way to fill the acquired slot with `bytes`. `could_post`: ZeroCopy::post() would also be
  /// possible, if it were faster.
  virtual Filling filling(size_t bytes, bool could_post) = 0;
  /// Reports how long filling the slot took; called before commit().
  virtual void filled(int64_t ns) = 0;

 protected:
  ~FillHints() = default;
};

/// Plain stores, untimed, without hints.
inline FillHints::Filling filling_by(FillHints* hints, size_t bytes, bool could_post) {
  return hints == nullptr ? FillHints::Filling() : hints->filling(bytes, could_post);
}

/// How to wait. The defaults are those of a connection that cannot tell its peer anything but messages.
class WaitHints {
 public:
  /// After an empty peek(): polls briefly, without system calls. True if a message has arrived.
  virtual bool poll_briefly() const = 0;

  /// Tells the peer that this end polls for the next `messages` and takes them, whatever they are; and
  /// whether the peer has said so of the next one that is sent. A send whose message then is posted, though
  /// it would fit in a slot, ends about as soon as by a slot.
  virtual void say_waiting(uint64_t /*messages*/) {}
  virtual bool is_peer_waiting() const { return false; }

  /// Tells the peer on which CPU this end waits, and whether the peer has last said that of its own. Numbered
  /// from 1.
  virtual void note_cpu(uint32_t /*cpu*/) {}
  virtual bool is_peer_on(uint32_t /*cpu*/) const { return false; }

  /// For when ranks outnumber CPUs: whether this end yields its CPU, as told to the peer, and what the peer
  /// has told. Either may be stale.
  virtual void set_yielding(bool /*is_yielding*/) {}
  virtual bool is_peer_yielding() const { return false; }

 protected:
  ~WaitHints() = default;
};

}  // namespace rondo
