// SPDX-License-Identifier: Apache-2.0
// Ways: the two ends' parts in choosing the way of long messages, for one direction of a shm connection. The
// sender chooses and times the filling of its slot; the receiver stores the time that its part took in one
// word per slot. Used on the connection's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shm/way_chooser.h"
#include "transports/hints.h"

namespace rondo::shm {

/// Reading a shorter message out of a process takes longer than copying it through a slot; nor is it timed.
inline constexpr size_t kMinRead = size_t{16} * 1024;

/// Messages have numbers from 1.
class SentWays {
 public:
  SentWays() = default;  // no slots: nothing is timed
  SentWays(const uint32_t* times, uint64_t slots) : times_(times), slots_(slots) {}

  /// Whether a message that the receiver could read should be sent that way.
  bool reads(uint64_t message, size_t bytes) const;
  /// How to fill the slot of a message that is not posted.
  FillHints::Filling filling(uint64_t message, size_t bytes, bool could_post);
  void filled(int64_t ns) { filling_.fill_ns = ns; }
  /// A message went through its slot, filled as filling() said if it was asked.
  void sent_by_slot(uint64_t message);
  void sent_to_be_read(uint64_t message, size_t bytes);
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
    Way way = Way::Plain;
  };
  static constexpr size_t kLengths = 3;  // from 16 KiB, 32 KiB and 64 KiB on
  static size_t kind_of(size_t bytes, bool could_post);
  bool is_timed(uint64_t message, size_t bytes) const { return bytes >= kMinRead && message > slots_; }
  void keep(const SentMessage& message);
  void hear_times(uint64_t returned);

  const uint32_t* times_ = nullptr;
  uint64_t slots_ = UINT64_MAX;
  std::array<WayChooser, 2 * kLengths> choosers_;  // by kind
  std::vector<SentMessage> by_slot_;               // the latest of each slot
  SentMessage filling_;
  uint64_t heard_ = 0;
  uint64_t latest_ = 0;  // timed message
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
  /// The user is done with the message in `slot`; no effect without begin().
  void end(uint64_t slot);

 private:
  uint32_t* times_ = nullptr;
  int64_t began_ns_ = 0;
  int64_t before_ns_ = 0;
};

}  // namespace rondo::shm
