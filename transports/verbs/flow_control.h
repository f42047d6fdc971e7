// SPDX-License-Identifier: Apache-2.0
// FlowControl: the counters of one end of a connection, and the immediate by which ends tell one another: 16
// bits with how many slots were given back so far, and 16 bits with the number of the latest message. Pure
// arithmetic; everything the peer says is checked against what it may say.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace rondo::verbs {

struct Immediate {
  uint16_t given_back = 0;
  uint16_t number = 0;

  uint32_t packed() const { return uint32_t{given_back} << 16 | number; }
  static Immediate of(uint32_t packed) {
    return {static_cast<uint16_t>(packed >> 16), static_cast<uint16_t>(packed)};
  }
};

class FlowControl {
 public:
  /// Messages that carry credits alone and may be on their way at once: each gives back at least half of the
  /// slots, and there are no credits for more than all of them.
  static constexpr uint32_t kMaxCreditMessages = 2;

  explicit FlowControl(uint64_t slots) : slots_(slots) {}

  // The sending half. A slot is free once the peer has given it back.
  bool has_room() const { return sent_ - returned_ < slots_; }
  uint64_t sent() const { return sent_; }
  /// The immediate of the next message, which then counts as sent.
  Immediate next_message() {
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
  /// The immediate of such a message.
  Immediate credits() { return tell(); }

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
  /// The immediate of a message that is sent again.
  Immediate again(uint64_t message) const {
    return {static_cast<uint16_t>(told_), static_cast<uint16_t>(message + 1)};
  }

  /// Takes in what a completed write said. RemoteError if the peer may not say so.
  Status take(Immediate said, bool is_message);

 private:
  Immediate tell() {
    told_ = released_;
    return {static_cast<uint16_t>(told_), static_cast<uint16_t>(sent_)};
  }

  uint64_t slots_;
  uint64_t sent_ = 0;
  uint64_t returned_ = 0;  // by the peer, of those sent
  uint64_t arrived_ = 0;
  uint64_t released_ = 0;
  uint64_t told_ = 0;  // of those released, how many the peer has been told of
};

}  // namespace rondo::verbs
