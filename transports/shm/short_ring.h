// SPDX-License-Identifier: Apache-2.0
// ShortRing: where a connection's short messages lie, one behind the other in a ring, each in one piece. Many
// more of them can be in flight than there are slots, which are for long ones. A line is quicker to write
// when it has left the first cache of the reader's core, so the ring is longer than that; but the first use
// of a page costs microseconds, so it is short until it has been gone round often. Used by the sender; plain
// arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo::shm {

class ShortRing {
 public:
  static constexpr size_t kBytes = size_t{256} * 1024;
  static constexpr size_t kLongest = size_t{8} * 1024;  // of a message that may lie in it
  static constexpr size_t kNowhere = kBytes;
  static constexpr size_t kFirstBytes = size_t{16} * 1024;  // that are used at first
  static_assert(kFirstBytes >= 2 * kLongest);               // else the longest might never fit

  ShortRing() = default;
  /// `messages`: that can be in flight, in the ring or not.
  explicit ShortRing(uint64_t messages) : ends_(messages) {}

  /// Where the next message, of `bytes` at most, may begin. kNowhere: until more messages than the first
  /// `released` have been released there is no room.
  size_t find(size_t bytes, uint64_t released) {
    const uint64_t begin = whole(next_, bytes);
    if (begin + bytes - first_ > kBytes && released != 0) first_ = ends_[(released - 1) % ends_.size()];
    if (begin + bytes - first_ > kBytes) return kNowhere;
    return begin % kBytes;
  }
  /// `message`, from 1, is sent, and its first byte is where find() said. True if from now on all bytes are
  /// used.
  bool use(size_t bytes, uint64_t message) {
    const uint64_t begin = whole(next_, bytes);
    const bool grows = begin % kBytes == 0 && begin != 0 && ++rounds_ == kFirstRounds;
    if (grows) end_ = kBytes;
    next_ = aligned(begin + bytes);
    pass(message);
    return grows;
  }
  /// `message` is sent, and lies elsewhere.
  void pass(uint64_t message) { ends_[(message - 1) % ends_.size()] = next_; }

  /// Where the message after one that lies at `begin` probably will, if it is as long.
  static constexpr size_t after(size_t begin, size_t bytes) {
    return aligned(begin + bytes) + bytes <= kBytes ? aligned(begin + bytes) : 0;
  }

 private:
  static constexpr size_t kLine = 64;
  static constexpr uint64_t aligned(uint64_t at) { return (at + kLine - 1) / kLine * kLine; }
  static constexpr uint64_t kFirstRounds = 128;

  /// The first place from `at` on where `bytes` are in one piece.
  uint64_t whole(uint64_t at, size_t bytes) const {
    const uint64_t place = at % kBytes;
    return place + bytes <= end_ ? at : at - place + kBytes;
  }

  size_t end_ = kFirstBytes;  // what lies behind is passed over
  uint64_t rounds_ = 0;
  // Places, counted on from round to round, by kBytes each:
  uint64_t next_ = 0;           // that the next message may use
  uint64_t first_ = 0;          // that may still be read
  std::vector<uint64_t> ends_;  // next_ after each message in flight, by its number
};

}  // namespace rondo::shm
