// SPDX-License-Identifier: Apache-2.0
// FlowControl: the counters of one end of a connection. What ends tell one another in the immediate of each
// write (verbs/write_order.h) is how many slots they have given back so far, modulo 2^16. Pure arithmetic;
// everything the peer says is checked against what it may say.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "verbs/write_order.h"

namespace rondo::verbs {

class FlowControl {
 public:
  /// Messages that carry credits alone and may be on their way at once: each gives back at least half of the
  /// slots, and there are no credits for more than all of them.
  static constexpr uint32_t kMaxCreditMessages = 2;

  explicit FlowControl(uint64_t slots) : slots_(slots) {}

  // The sending half. A slot is free once the peer has given it back.
  bool has_room() const { return sent_ - returned_ < slots_; }
  uint64_t sent() const { return sent_; }
  /// The next message counts as sent. What it says was given back.
  uint16_t next_message() {
    ++sent_;
    return tell();
  }

  // The receiving half.
  bool has_arrival() const { return arrived_ != released_; }
  uint64_t arrived() const { return arrived_; }
  uint64_t released() const { return released_; }
  void release() { ++released_; }
  /// Whether half of the slots wait to be given back, so that a message of its own must carry them.
  bool must_give_back() const { return released_ - told_ >= (slots_ + 1) / 2; }
  /// Whether so few are left to the peer that it must not wait until this end has nothing else to do.
  bool lacks_slots() const { return released_ - told_ >= slots_ - slots_ / 4; }
  /// What such a message says.
  uint16_t credits() { return tell(); }

  // Going on after messages were lost with their path:

  /// How far this end has come. The peer then knows of all slots that were given back.
  struct Standing {
    uint64_t arrived = 0;
    uint64_t released = 0;
  };
  Standing tell_standing() {
    told_ = released_;
    return {arrived_, released_};
  }
  /// Takes in how far the peer has come. RemoteError if it cannot have.
  Status resume(const Standing& peers);
  /// What a message that is sent again says.
  uint16_t told() const { return static_cast<uint16_t>(told_); }

  /// Takes in what a write of the peer said, in the order of its writes. RemoteError if it may not say so.
  Status take(uint16_t given_back, WriteKind kind);

 private:
  uint16_t tell() {
    told_ = released_;
    return told();
  }

  uint64_t slots_;
  uint64_t sent_ = 0;
  uint64_t returned_ = 0;  // by the peer, of those sent
  uint64_t arrived_ = 0;
  uint64_t released_ = 0;
  uint64_t told_ = 0;  // of those released, how many the peer has been told of
};

}  // namespace rondo::verbs
