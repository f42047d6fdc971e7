// SPDX-License-Identifier: Apache-2.0
// FlowControl: the counters of one end of a connection, and where its messages lie. What ends tell one
// another in the immediate of each write (verbs/write_order.h) is how many messages they have given back so
// far, modulo 2^16: their places are free then. Pure arithmetic; everything the peer says is checked against
// what it may say.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "verbs/message_ring.h"
#include "verbs/write_order.h"

namespace rondo::verbs {

class FlowControl {
 public:
  explicit FlowControl(const RingLayout& layout)
      : max_messages_(layout.max_messages()), outgoing_(layout), incoming_(layout) {}

  // The sending half.
  /// Whether the next message has a free place at both ends, whatever its length. `delivered`: how many of
  /// the own ones need theirs here no more. `placed_until`: the number behind the last message that the peer
  /// has named a place for. While that, or the first message of all, has not been given back, no more
  /// messages are on their way than there are slots: the next may be about to get places, which they would
  /// miss.
  bool has_room(uint64_t delivered, uint64_t placed_until) const {
    return outgoing_.has_room(std::min(returned_, delivered), are_placed(returned_, placed_until));
  }
  uint64_t sent() const { return outgoing_.messages(); }
  /// By the peer, of those sent.
  uint64_t returned() const { return returned_; }
  /// Where the next message lies, or one that has not been given back.
  uint64_t place_of_sent(uint64_t message) const { return outgoing_.place(message); }
  /// The next message, of this length, counts as sent. What it says was given back.
  uint16_t next_message(uint64_t bytes) {
    outgoing_.add(bytes);
    return tell();
  }

  // The receiving half.
  bool has_arrival() const { return arrived_ != released(); }
  uint64_t arrived() const { return arrived_; }
  uint64_t released() const { return incoming_.messages(); }
  /// Where the oldest arrival lies.
  uint64_t place_of_arrival() const { return incoming_.place(released()); }
  /// The oldest arrival had this length.
  void release(uint64_t bytes) { incoming_.add(bytes); }
  /// Whether half of what the peer may use waits to be given back, so that a message of its own must do so.
  /// `placed_until`: of places that the peer was told.
  bool must_give_back(uint64_t placed_until) const { return waits(2, placed_until); }
  /// Whether so little is left to the peer that it must not wait until this end has nothing else to do.
  bool lacks_room(uint64_t placed_until) const { return waits(3, placed_until); }
  /// How many the peer has been told that it was given back.
  uint64_t told_messages() const { return told_; }
  /// What such a message says.
  uint16_t credits() { return tell(); }

  // Going on after messages were lost with their path:

  /// How far this end has come. The peer then knows of all messages that were given back.
  struct Standing {
    uint64_t arrived = 0;
    uint64_t released = 0;
  };
  Standing tell_standing() {
    told_ = released();
    return {arrived_, told_};
  }
  /// Takes in how far the peer has come. RemoteError if it cannot have.
  Status resume(const Standing& peers);
  /// What a message that is sent again says.
  uint16_t told() const { return static_cast<uint16_t>(told_); }

  /// Takes in what a write of the peer said, in the order of its writes. RemoteError if it may not say so.
  Status take(uint16_t given_back, WriteKind kind);

 private:
  static bool are_placed(uint64_t given_back, uint64_t placed_until) {
    return given_back < std::max(placed_until, uint64_t{1});
  }
  bool waits(uint64_t quarters, uint64_t placed_until) const {
    return incoming_.fills(quarters, told_, are_placed(told_, placed_until));
  }
  uint16_t tell() {
    told_ = released();
    return told();
  }

  uint64_t max_messages_;
  MessageRing outgoing_;
  uint64_t returned_ = 0;  // by the peer, of those sent
  MessageRing incoming_;   // those that were released
  uint64_t arrived_ = 0;
  uint64_t told_ = 0;  // of those released, how many the peer has been told of
};

}  // namespace rondo::verbs
