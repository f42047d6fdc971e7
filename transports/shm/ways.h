// SPDX-License-Identifier: Apache-2.0
// Ways: the two ends' parts in choosing the way of long messages, for one direction of a shm connection. The
// sender chooses and times the filling of its slot; the receiver stores the time that its part took in one
// word per header. Used on the connection's thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/timed_choice.h"
#include "shm/slot_picker.h"
#include "transports/hints.h"

namespace rondo::shm {

/// Reading a shorter message out of a process takes longer than copying it through a slot; nor is it timed.
inline constexpr size_t kMinRead = size_t{16} * 1024;

inline constexpr int64_t kSampledOf = 4;  // a power of two
/// Whether both ends time a long message: one in four, as times of all would take longer than they save. Not
/// every fourth, as one in four may be of another kind than the others.
inline bool is_sampled(uint64_t message) {
  constexpr uint64_t kGolden = 0x9E37'79B9'7F4A'7C15;  // spreads consecutive numbers evenly
  return (message * kGolden) >> (64 - std::countr_zero(uint64_t{kSampledOf})) == 0;
}

/// How a long message travels.
enum class Way : uint8_t {
  Reusing,    // through a part of the slots' memory that was used lately, by plain stores
  Streaming,  // through such a part, by non-temporal stores
  Read,       // by the receiver, out of the sender's process
  InTurn,     // through the part whose turn it is, by plain stores
};

/// Messages have numbers from 1.
class SentWays {
 public:
  SentWays() = default;  // no slots: nothing is timed
  /// `messages`: that can be in flight; `parts`: of the slots' memory.
  SentWays(const uint32_t* times, uint64_t messages, uint64_t parts);

  /// Whether a message that the receiver could read should be sent that way. `picker`: of its part.
  bool reads(uint64_t message, size_t bytes, const SlotPicker& picker) const;
  /// How to fill the slot of a message that is not posted.
  FillHints::Filling filling(uint64_t message, size_t bytes, bool could_post, const SlotPicker& picker);
  /// `overlapped`: the receiver read meanwhile, so its time says it all.
  void filled(int64_t ns, bool overlapped);
  /// A message went through its slot, filled as filling() said if it was asked. The picker learns which part
  /// the next one should have, if it is like this one.
  void sent_by_slot(uint64_t message, SlotPicker& picker);
  void sent_to_be_read(uint64_t message, size_t bytes, SlotPicker& picker);
  /// Collects the receiver's times of the first `returned` messages, which it has released.
  void hear(uint64_t returned) {
    if (heard_ < latest_) hear_times(returned);
  }

 private:
  struct SentMessage {
    uint64_t number = 0;  // 0: none
    size_t bytes = 0;
    int64_t fill_ns = 0;
    size_t kind = 0;
    Way way = Way::Reusing;
  };
  static constexpr size_t kLengths = 3;  // from 16 KiB, 32 KiB and 64 KiB on
  static size_t kind_of(size_t bytes, bool could_post);
  size_t known_like(size_t kind) const;
  Way next(uint64_t message, size_t kind, bool may_read, const SlotPicker& picker) const;
  bool is_counted(uint64_t message, size_t bytes) const { return bytes >= kMinRead && message > parts_; }
  void consider_turns(const SlotPicker& picker);
  void keep(const SentMessage& message, SlotPicker& picker);
  void hear_times(uint64_t returned);

  const uint32_t* times_ = nullptr;
  uint64_t messages_ = 0;                           // that can be in flight
  uint64_t parts_ = UINT64_MAX;                     // of the slots' memory
  std::array<TimedChoice, 2 * kLengths> choosers_;  // by kind
  std::vector<SentMessage> by_header_;              // the latest of each
  SentMessage filling_;
  bool fills_new_ = false;           // a part that no long message has used
  int64_t new_part_ns_ = INT64_MAX;  // the shortest time that filling one has taken
  int64_t sampled_ns_ = 0;           // for which those of sampled messages were filled
  bool may_turn_ = false;
  uint64_t heard_ = 0;
  uint64_t latest_ = 0;  // message that is timed
};

/// The receiving end's timer.
class TakenTime {
 public:
  TakenTime() = default;
  explicit TakenTime(uint32_t* times) : times_(times) {}

  /// The user receives the message now. Called again, restarts the timer: the user was waiting for something.
  void begin();
  bool has_begun() const { return began_ns_ != 0; }
  /// Time spent on bringing the bytes here before begin().
  void add(int64_t ns) { before_ns_ = ns; }
  /// The user is done with the message with this header, whose time is stored if it began.
  void end(uint64_t header);

 private:
  uint32_t* times_ = nullptr;
  int64_t began_ns_ = 0;
  int64_t before_ns_ = 0;
};

}  // namespace rondo::shm
