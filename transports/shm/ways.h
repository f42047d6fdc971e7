// Ways: the two ends of one direction of a shm connection, as far as the way of long messages goes. The
// sender chooses it and knows how long it filled a slot; the receiver tells how long its part took in a word
// of each slot. On the connection's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shm/way_chooser.h"
#include "transports/connection.h"

namespace rondo::shm {

/// To read less out of a process takes longer than to copy it into a slot and out; nor is less timed.
inline constexpr size_t kLeastRead = size_t{16} * 1024;

/// Messages have numbers from 1.
class SentWays {
 public:
  SentWays() = default;  // of no slots: nothing is timed
  SentWays(const uint32_t* times, uint64_t slots) : times_(times), slots_(slots) {}

  /// Whether a message that could be read is to be.
  bool reads(uint64_t message, size_t bytes) const;
  /// How a message that is not posted comes into its slot.
  Connection::Filling filling(uint64_t message, size_t bytes, bool could_post);
  void filled(int64_t ns) { filling_.fill_ns = ns; }
  /// A message goes by its slot as filling() said, if that was asked for it.
  void sent_by_slot(uint64_t message);
  void sent_to_be_read(uint64_t message, size_t bytes);
  /// That so many messages were given back.
  void hear(uint64_t returned) {
    if (heard_ < latest_) hear_times(returned);
  }

 private:
  struct Message {
    uint64_t number = 0;  // 0: none
    size_t bytes = 0;
    int64_t fill_ns = 0;
    size_t kind = 0;
    Way way = Way::Plain;
  };
  static constexpr size_t kLengths = 3;  // from 16 KiB, 32 KiB and 64 KiB on
  static size_t kind_of(size_t bytes, bool could_post);
  bool is_timed(uint64_t message, size_t bytes) const { return bytes >= kLeastRead && message > slots_; }
  void keep(const Message& message);
  void hear_times(uint64_t returned);

  const uint32_t* times_ = nullptr;
  uint64_t slots_ = UINT64_MAX;
  std::array<WayChooser, 2 * kLengths> choosers_;  // by kind
  std::vector<Message> by_slot_;                   // of each slot the latest
  Message filling_;
  uint64_t heard_ = 0;
  uint64_t latest_ = 0;  // that is timed
};

/// Of the receiving end.
class TakenTime {
 public:
  TakenTime() = default;
  explicit TakenTime(uint32_t* times) : times_(times) {}

  /// The user has the message now; called again, it had to wait for something else.
  void begin();
  /// The bytes were brought here before that.
  void add(int64_t ns) { before_ns_ = ns; }
  /// The message in that slot is done with; nothing where it did not begin.
  void end(uint64_t slot);

 private:
  uint32_t* times_ = nullptr;
  int64_t began_ns_ = 0;
  int64_t before_ns_ = 0;
};

}  // namespace rondo::shm
