// SPDX-License-Identifier: Apache-2.0
// WayChooser: chooses how a connection's next long message travels, from how long recent messages took. Which
// way is fastest depends on the machine and on where the two ranks run, and a hypervisor may change that at
// run time. The caller measures and reports durations. Used by the sending end, on the connection's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rondo::shm {

enum class Way : uint8_t {
  Plain,      // through a slot, by plain stores
  Streaming,  // through a slot, by non-temporal stores
  Read,       // by the receiver, out of the sender's process
};
inline constexpr size_t kWays = 3;

class WayChooser {
 public:
  /// The way of the next message; unchanged until sent() or took(). Slower ways are retried so rarely that
  /// each costs about 1 %.
  Way next(bool may_read) const;
  void sent(Way way);
  /// Reports the time that a message took at its sender and receiver together.
  void took(Way way, size_t bytes, int64_t ns);

 private:
  /// Recent times of one way. The median counts, so that a preempted process does not distort it.
  struct RecentTimes {
    static constexpr size_t kTimes = 5;
    static constexpr size_t kMinTimes = 3;
    bool is_known() const { return times >= kMinTimes; }

    std::array<double, kTimes> ns_per_byte{};
    size_t times = 0;  // reported so far
    double latest = 0;
    double median = 0;
    uint32_t idle = 0;  // messages since this way was last used
  };

  const RecentTimes& of(Way way) const { return ways_[static_cast<size_t>(way)]; }
  bool is_due(Way way, Way best) const;
  Way cheapest(bool may_read) const;

  std::array<RecentTimes, kWays> ways_;
  Way best_ = Way::Plain;
};

}  // namespace rondo::shm
