// SPDX-License-Identifier: Apache-2.0
// SlotPicker: in which part of a connection's slot memory each message lies. At first long ones in parts that
// were used before, since the first use of a page costs microseconds: a process that sends few messages
// touches few pages. Later, and after short ones, all in turn, since a line that the reader still has in its
// cache is expensive to write. The sender's half of a shm connection; used on its thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo::shm {

class SlotPicker {
 public:
  SlotPicker() = default;
  explicit SlotPicker(uint64_t slots) : users_(slots) {}

  /// Whether each message, and all that are in flight, goes to the part whose turn it is; from then on for
  /// ever.
  bool is_regular() const { return in_turn_ >= users_.size() && !users_.empty(); }

  // Until then:

  /// Whether the next message probably goes to a part that was used before: it then pays to find out which
  /// messages have been released.
  bool reuses() const { return was_long_ && long_messages_ < kEarlyLong; }
  /// A free part; there is one, as there is room for a message. `own`: the part whose turn it is; `released`:
  /// how many messages the receiver has released.
  uint64_t pick(uint64_t own, uint64_t released) const {
    if (!reuses() && users_[own] <= released) return own;
    const auto free = std::ranges::find_if(users_, [&](uint64_t user) { return user <= released; });
    return static_cast<uint64_t>(free - users_.begin());
  }
  /// `message`: its number, from 1, and length.
  void use(uint64_t part, uint64_t message, size_t bytes, uint64_t own) {
    users_[part] = message;
    was_long_ = bytes >= kLong;
    if (was_long_) ++long_messages_;
    const bool is_early = long_messages_ < kEarlyLong && message < kEarly;
    in_turn_ = part == own && !is_early ? in_turn_ + 1 : 0;
  }

 private:
  static constexpr size_t kLong = size_t{16} * 1024;
  static constexpr uint64_t kEarlyLong = 256;
  static constexpr uint64_t kEarly = 4096;

  std::vector<uint64_t> users_;  // the latest message in each part; 0: none
  uint64_t in_turn_ = 0;         // the latest messages in a row that went to the part whose turn it was
  uint64_t long_messages_ = 0;
  bool was_long_ = false;  // the latest
};

}  // namespace rondo::shm
