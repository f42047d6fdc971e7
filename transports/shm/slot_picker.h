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
  /// There are `slots` and, for those of which the peer keeps the part, `spare` parts more. `fit_cache`: all
  /// slots fit the cache of the reader's core.
  SlotPicker(uint64_t slots, uint64_t spare, bool fit_cache)
      : users_(slots),
        parts_(slots),
        slot_of_(slots + spare, kNone),
        touched_(slots + spare),
        fit_cache_(fit_cache) {
    for (uint64_t part = 0; part < slots; ++part) slot_of_[part] = parts_[part] = part;
    for (uint64_t part = slots; part < slots + spare; ++part) spare_.push_back(part);
  }

  /// Whether each message, and all that are in flight, goes to the part whose turn it is.
  bool is_regular() const { return in_turn_ >= users_.size() && !users_.empty(); }
  /// Whether the connection has sent few messages, for which few pages should be touched.
  bool is_early() const { return is_early_; }
  /// Whether long messages may go to the parts in turn now.
  bool may_turn() const { return !is_early_ && !fit_cache_; }
  /// Whether long messages like the latest should go to few parts from now on.
  void prefer_reuse(bool does) {
    if (does && is_regular()) in_turn_ = 0;
    prefers_reuse_ = does;
  }

  /// Whether it pays to find out which messages have been released before a part is picked. `released`: how
  /// many are known to have been.
  bool needs_releases(uint64_t released) const { return reuses() || users_[slot_in_turn()] > released; }
  /// A slot with a free part, if there is one. Nothing: that whose turn it is will be free in a moment, if
  /// the receiver keeps up; if it does not, or the message is probably short, another one.
  std::optional<uint64_t> pick(uint64_t released) {
    reused_ = may_reuse();
    auto slot = users_.begin() + static_cast<std::ptrdiff_t>(slot_in_turn());
    if (*slot > released) {
      if (*slot != kKept && (is_regular() || (reuses() && waits(released)))) return std::nullopt;
      slot = std::ranges::find_if(users_, [&](uint64_t user) { return user <= released; });
      if (slot == users_.end()) return std::nullopt;
    }
    const auto picked = static_cast<uint64_t>(slot - users_.begin());
    is_new_ = !touched_[parts_[picked]];
    return picked;
  }
  /// `message`: its number, from 1, and length.
  void use(uint64_t slot, uint64_t message, size_t bytes) {
    users_[slot] = message;
    note(message, bytes);
    if (was_long_) touched_[parts_[slot]] = true;
    in_turn_ = slot == turn_ && !is_early_ && !prefers_reuse_ ? in_turn_ + 1 : 0;
    if (++turn_ == users_.size()) turn_ = 0;
  }
  /// The message is in a part of the peer's.
  void use_peers(uint64_t message, size_t bytes) {
    note(message, bytes);
    in_turn_ = 0;
  }

  uint64_t part(uint64_t slot) const { return parts_[slot]; }
  /// The latest message in it; 0: none.
  uint64_t user(uint64_t slot) const { return users_[slot]; }
  /// The peer keeps the slot's part: it has another one now, or, while none is spare, none.
  void replace(uint64_t slot) {
    users_[slot] = kKept;
    if (spare_.empty()) return;
    slot_of_[parts_[slot]] = kNone;
    parts_[slot] = spare_.back();
    spare_.pop_back();
    slot_of_[parts_[slot]] = slot;
    users_[slot] = 0;
  }
  /// A part that the peer kept has come back.
  void take_back(uint64_t part) {
    if (const uint64_t slot = slot_of_[part]; slot != kNone)
      users_[slot] = 0;
    else if (std::ranges::find(spare_, part) == spare_.end())
      spare_.push_back(part);
  }
  /// The slot of a part that has come back, if it has not been used since.
  std::optional<uint64_t> slot_of_returned(uint64_t part) const {
    const uint64_t slot = slot_of_[part];
    return slot != kNone && users_[slot] == 0 ? std::optional(slot) : std::nullopt;
  }
  /// Whether a long message may lie where another was lately.
  bool may_reuse() const { return is_early_ || prefers_reuse_; }
  /// The next message lies there.
  void note_moved() {
    reused_ = true;
    is_new_ = false;
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

  static constexpr uint64_t kNone = UINT64_MAX;
  static constexpr uint64_t kKept = UINT64_MAX;  // for a user

  void note(uint64_t message, size_t bytes) {
    was_long_ = bytes >= kLong;
    if (was_long_) ++long_messages_;
    is_early_ = long_messages_ < kEarlyLong && message < kEarly;
  }
  uint64_t slot_in_turn() const { return may_reuse() ? turn_ % kReused : turn_; }
  /// Whether the next message is probably long and goes to one of the few parts.
  bool reuses() const { return was_long_ && may_reuse(); }
  bool waits(uint64_t released) {
    const int64_t now = now_ns();
    if (std::exchange(released_, released) != released || waits_since_ns_ == 0) waits_since_ns_ = now;
    return now - waits_since_ns_ < kPatience_ns;
  }
  std::vector<uint64_t> users_;    // by slot: the latest message in it; 0: none
  std::vector<uint64_t> parts_;    // by slot
  std::vector<uint64_t> slot_of_;  // by part
  std::vector<uint64_t> spare_;    // parts
  uint64_t turn_ = 0;              // advances with each message
  std::vector<bool> touched_;      // by part: whether a long message has used it
  uint64_t in_turn_ = 0;           // the latest messages in a row that went to the part whose turn it was
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
