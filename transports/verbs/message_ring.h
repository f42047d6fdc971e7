// SPDX-License-Identifier: Apache-2.0
// MessageRing: where the messages of one direction lie in its memory: each, with its SlotHeader, behind the
// one before it, or at the beginning where the longest would not fit there. So short messages take little
// room, and many of them are on their way before the first is given back. Both ends compute the same from the
// lengths alone. Pure arithmetic.
#pragma once

#include <algorithm>
#include <vector>

#include "common/aligned_bytes.h"
#include "schedule/fifo_layout.h"

namespace rondo::verbs {

/// Of the memory of one direction. As many messages as there are slots always fit, whatever their lengths.
struct RingLayout {
  uint64_t slots = 0;
  uint64_t slot_bytes = 0;  // of the longest message, without its header

  static constexpr uint64_t place_bytes(uint64_t bytes) { return sizeof(SlotHeader) + aligned_size(bytes); }
  uint64_t longest() const { return place_bytes(slot_bytes); }
  /// What all slots take, and what may be left free before the end.
  uint64_t bytes() const { return (slots + 1) * longest(); }
  /// How many messages may be in it, however short. `are_placed`: their receiver names places for them, at
  /// most for a few ahead.
  uint64_t max_messages(bool are_placed = false) const {
    return are_placed ? slots : std::max(slots, kMaxShort);
  }

 private:
  static constexpr uint64_t kMaxShort = 64;  // the usual window of benchmarks; each needs a posted receive
};

class MessageRing {
 public:
  explicit MessageRing(const RingLayout& layout) : layout_(layout), starts_(layout.max_messages() + 1) {}

  uint64_t messages() const { return messages_; }
  /// As an offset; of the next message, or of one of those that fit together with it.
  uint64_t place(uint64_t message) const { return start(message) % layout_.bytes(); }
  /// Whether the next message has room, whatever its length, while those from `oldest` on are in the ring.
  bool has_room(uint64_t oldest, bool are_placed) const {
    return messages_ - oldest < layout_.max_messages(are_placed) &&
           start(messages_) + layout_.longest() - start(oldest) <= layout_.bytes();
  }
  /// Whether those from `oldest` on take at least that many quarters of the slots, or of the number of
  /// messages.
  bool fills(uint64_t quarters, uint64_t oldest, bool are_placed) const {
    return 4 * (messages_ - oldest) >= quarters * layout_.max_messages(are_placed) ||
           4 * (start(messages_) - start(oldest)) >= quarters * layout_.slots * layout_.longest();
  }
  /// The next message has this length, at most slot_bytes.
  void add(uint64_t bytes) {
    const uint64_t end = start(messages_) + RingLayout::place_bytes(bytes);
    const uint64_t left = layout_.bytes() - end % layout_.bytes();
    ++messages_;
    start(messages_) = left < layout_.longest() ? end + left : end;
  }

 private:
  uint64_t& start(uint64_t message) { return starts_[message % starts_.size()]; }
  uint64_t start(uint64_t message) const { return starts_[message % starts_.size()]; }

  const RingLayout layout_;
  std::vector<uint64_t> starts_;  // by message: its place, plus all rounds before it
  uint64_t messages_ = 0;
};

}  // namespace rondo::verbs
