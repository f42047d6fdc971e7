// SPDX-License-Identifier: Apache-2.0
// SlotPicker: in which part of a connection's slot memory each message lies. At first the parts that were
// used before, since the first use of a page costs microseconds: a process that sends few messages touches
// few pages. Later all in turn, since a line that the reader still has in its cache is expensive to write.
// The sender's half of a shm connection; used on its thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo::shm {

class SlotPicker {
 public:
  SlotPicker() = default;
  explicit SlotPicker(uint64_t slots) : users_(slots) {}

  /// Whether this message, numbered from 1, is one of the first.
  static bool is_early(uint64_t message) { return message <= kEarly; }
  /// Whether each message, and all that are in flight, goes to the part whose turn it is; from then on for
  /// ever.
  bool is_regular() const { return in_turn_ >= users_.size() && !users_.empty(); }

  // Until then:

  /// A free part; there is one, as there is room for a message. `own`: the part whose turn it is; `released`:
  /// how many messages the receiver has released.
  uint64_t pick(uint64_t message, uint64_t own, uint64_t released) const {
    if (!is_early(message) && users_[own] <= released) return own;
    const auto free = std::ranges::find_if(users_, [&](uint64_t user) { return user <= released; });
    return static_cast<uint64_t>(free - users_.begin());
  }
  void use(uint64_t part, uint64_t message, uint64_t own) {
    users_[part] = message;
    in_turn_ = part == own && !is_early(message) ? in_turn_ + 1 : 0;
  }

 private:
  static constexpr uint64_t kEarly = 256;

  std::vector<uint64_t> users_;  // the latest message in each part; 0: none
  uint64_t in_turn_ = 0;         // the latest messages in a row that went to the part whose turn it was
};

}  // namespace rondo::shm
