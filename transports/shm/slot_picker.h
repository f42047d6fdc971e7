// SPDX-License-Identifier: Apache-2.0
// SlotPicker: in which part of a connection's slot memory each message lies that has one. At first in few
// parts, since the first use of a page costs microseconds: a process that sends few messages touches few
// pages. Later short ones in turn, and long ones in turn or in few parts, whichever is faster: a line that
// the reader still has in its cache may be expensive to write, and one that has left the writer's is, too.
// Where all parts fit the reader's cache, long ones stay in few. The sender's half of a shm connection; used
// on its thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace rondo::shm {

class SlotPicker {
 public:
  SlotPicker() = default;
  /// `fit_cache`: all slots fit the cache of the reader's core.
  SlotPicker(uint64_t slots, bool fit_cache) : users_(slots), touched_(slots), fit_cache_(fit_cache) {}

  /// Whether each message, and all that are in flight, goes to the part whose turn it is.
  bool is_regular() const { return in_turn_ >= users_.size() && !users_.empty(); }
  /// Whether the connection has sent few messages, for which few pages should be touched.
  bool is_early() const { return is_early_; }
  /// Whether long messages may go to the parts in turn now.
  bool may_turn() const { return !is_early_ && !fit_cache_; }
  /// Where long messages like the latest, `message` (from 1), should go from now on.
  void prefer_reuse(bool does) {
    if (does && is_regular()) in_turn_ = 0;
    prefers_reuse_ = does;
  }

  /// Whether it pays to find out which messages have been released before a part is picked. `released`: how
  /// many are known to have been.
  bool needs_releases(uint64_t released) const { return reuses() || users_[part_in_turn()] > released; }
  /// A free part, if there is one. Nothing: the part whose turn it is will be free in a moment, if the
  /// receiver keeps up; if it does not, or the message is probably short, another part.
  std::optional<uint64_t> pick(uint64_t released) {
    reused_ = is_early_ || prefers_reuse_;
    auto part = users_.begin() + static_cast<std::ptrdiff_t>(part_in_turn());
    if (*part > released) {
      if (is_regular() || (reuses() && waits(released))) return std::nullopt;
      part = std::ranges::find_if(users_, [&](uint64_t user) { return user <= released; });
      if (part == users_.end()) return std::nullopt;
    }
    const auto picked = static_cast<uint64_t>(part - users_.begin());
    is_new_ = !touched_[picked];
    return picked;
  }
  /// `message`: its number, from 1, and length.
  void use(uint64_t part, uint64_t message, size_t bytes) {
    users_[part] = message;
    was_long_ = bytes >= kLong;
    if (was_long_) {
      ++long_messages_;
      touched_[part] = true;
    }
    is_early_ = long_messages_ < kEarlyLong && message < kEarly;
    in_turn_ = part == turn_ && !is_early_ && !prefers_reuse_ ? in_turn_ + 1 : 0;
    if (++turn_ == users_.size()) turn_ = 0;
  }

  /// Whether the latest part was picked because it was used before.
  bool reused() const { return !is_regular() && reused_; }
  /// Whether no long message has used it.
  bool is_new() const { return !is_regular() && is_new_; }
  /// How many parts long messages touch only when they go to all in turn.
  uint64_t others() const { return users_.size() > kReused ? users_.size() - kReused : 0; }

 private:
  static constexpr size_t kLong = size_t{16} * 1024;
  static constexpr uint64_t kReused = 4;            // parts, or all if there are fewer
  static constexpr int64_t kPatience_ns = 100'000;  // since the receiver released a message
  static constexpr uint64_t kEarlyLong = 256;
  static constexpr uint64_t kEarly = 4096;

  uint64_t part_in_turn() const { return is_early_ || prefers_reuse_ ? turn_ % kReused : turn_; }
  /// Whether the next message is probably long and goes to one of the few parts.
  bool reuses() const { return was_long_ && (is_early_ || prefers_reuse_); }
  bool waits(uint64_t released) {
    const int64_t now = now_ns();
    if (std::exchange(released_, released) != released || waits_since_ns_ == 0) waits_since_ns_ = now;
    return now - waits_since_ns_ < kPatience_ns;
  }
  std::vector<uint64_t> users_;  // the latest message in each part; 0: none
  uint64_t turn_ = 0;            // advances with each message
  std::vector<bool> touched_;    // by part: whether a long message has used it
  uint64_t in_turn_ = 0;         // the latest messages in a row that went to the part whose turn it was
  uint64_t long_messages_ = 0;
  bool fit_cache_ = false;
  bool is_early_ = true;
  bool was_long_ = false;  // the latest
  bool prefers_reuse_ = false;
  bool reused_ = false;         // the part picked latest
  bool is_new_ = false;         // that part, to long messages
  uint64_t released_ = 0;       // as of the latest waits()
  int64_t waits_since_ns_ = 0;  // since that changed; 0: it never waited
};

}  // namespace rondo::shm
