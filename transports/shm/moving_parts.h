// SPDX-License-Identifier: Apache-2.0
// MovingParts: parts of slots' memory that change sides. An end that has read a message and is about to send
// one writes it where that was: its core has just fetched those lines, and the other end's core need give up
// nothing before they are written. So a conversation moves every line once a message, where two ends that
// write memory of their own move it twice. The receiver says which parts it keeps; the sender has spare ones
// instead (SlotPicker). A part comes back with the message that it carries. Used on the connection's thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rondo::shm {

/// A part of this end's slots or of the peer's.
struct SlotPart {
  uint64_t index = 0;
  bool is_own = true;

  friend bool operator==(const SlotPart&, const SlotPart&) = default;
};

/// In which connection the receiving end of one answers what it receives, and so whose parts it may be sent.
enum class Partner : uint64_t { Unknown, Itself, Another };

/// Words of one direction that its receiver writes; atomic, initially 0.
struct KeptParts {
  uint64_t* partner = nullptr;   // a Partner
  uint64_t* messages = nullptr;  // by part of the sender's slots: the latest with which it was kept, from 1
};

class MovingParts {
 public:
  static constexpr uint64_t kMost = 4;                // of the peer's parts that an end has
  static constexpr size_t kLeast = size_t{1} * 1024;  // bytes of a message for which it pays

  MovingParts() = default;
  explicit MovingParts(const KeptParts& by_peer) : by_peer_(by_peer) {}

  /// The parts that this end keeps are those of the direction that has these words.
  void answer(const KeptParts& here, Partner partner) {
    here_ = here;
    partner_ = partner;
  }

  /// Whether the next message answers one, as far as can be told.
  bool answers() const { return unanswered_ != 0; }
  /// Of kLeast bytes or more, as received().
  void sent() {
    expected_ = std::min(expected_ + 1, kMost);
    if (unanswered_ != 0) --unanswered_;
  }
  /// Whether this answers a message that was sent, so that its part should be kept.
  bool received() {
    unanswered_ = std::min(unanswered_ + 1, kMost);
    if (expected_ == 0) return false;
    --expected_;
    // Relaxed: the peer has long mapped what is meant by it.
    return std::atomic_ref(*by_peer_.partner).load(std::memory_order_relaxed) ==
           static_cast<uint64_t>(partner_);
  }

  /// Whether the peer kept this part of this end's with that message.
  bool is_kept_by_peer(uint64_t part, uint64_t message) const {
    return std::atomic_ref(by_peer_.messages[part]).load(std::memory_order_relaxed) == message;
  }

  /// Keeps the peer's part, from which `message` has been read and not yet released, if it has not too many.
  /// `returned`: how many of this end's messages the peer has released.
  void keep(uint64_t part, uint64_t message, uint64_t returned) {
    auto had = std::ranges::find(kept_, part, &Kept::part);
    if (had != kept_.end() && had->sent_in == kUnsent) return;  // the peer should not have it
    if (had == kept_.end())
      had = std::ranges::find_if(kept_, [&](const Kept& one) { return one.sent_in <= returned; });
    if (had == kept_.end()) return;
    *had = {part, kUnsent};
    // Relaxed: published by the release of the message, or of a later one.
    std::atomic_ref(here_.messages[part]).store(message, std::memory_order_relaxed);
    note({part, false});
  }
  /// This end's part has come back.
  void take_back(uint64_t part) { note({part, true}); }

  /// The part that has come here latest; null: none that is not in use.
  const SlotPart* latest() const { return count_ == 0 ? nullptr : &latest_[count_ - 1]; }
  void forget_latest() { --count_; }
  /// `message`, from 1, is sent in this one, which was the latest.
  void use(const SlotPart& part, uint64_t message) {
    forget(std::ranges::find(latest_, part));
    if (!part.is_own) std::ranges::find(kept_, part.index, &Kept::part)->sent_in = message;
  }

 private:
  static constexpr uint64_t kUnsent = UINT64_MAX;
  struct Kept {
    uint64_t part = UINT64_MAX;
    uint64_t sent_in = 0;  // the message with which it went back
  };

  using Place = std::array<SlotPart, 2 * kMost>::iterator;
  void forget(Place place) {
    if (place >= latest_.begin() + static_cast<std::ptrdiff_t>(count_)) return;
    std::copy(place + 1, latest_.end(), place);
    --count_;
  }
  /// Own ones may be forgotten: they are as good as any.
  void note(const SlotPart& part) {
    if (count_ == latest_.size()) forget(std::ranges::find(latest_, true, &SlotPart::is_own));
    latest_[count_++] = part;
  }

  KeptParts by_peer_;
  KeptParts here_;
  Partner partner_ = Partner::Itself;
  std::array<Kept, kMost> kept_;
  std::array<SlotPart, 2 * kMost> latest_;  // the first `count_`
  size_t count_ = 0;
  uint64_t unanswered_ = 0;  // messages, at most kMost, as below
  uint64_t expected_ = 0;    // answers
};

}  // namespace rondo::shm
