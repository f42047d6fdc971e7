// WayChooser: by which way the next of a connection's long messages goes, from what messages took lately.
// Which is quickest depends on the machine and on where the two ranks run, and a hypervisor changes that
// while they do. It has no clock: its user says what messages took. Used by the sending end, on the
// connection's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rondo::shm {

enum class Way : uint8_t {
  Plain,      // through a slot, by plain stores
  Streaming,  // through a slot, by stores that go past the caches
  Read,       // out of the sender's process
};
inline constexpr size_t kWays = 3;

class WayChooser {
 public:
  /// The way of the next message, the same until sent() or took(). Now and then it is one that took longer
  /// when it was last tried, so rarely that this adds about one part in a hundred for each such way.
  Way next(bool may_read) const;
  void sent(Way way);
  /// What a message of this way took at its sender and its receiver together.
  void took(Way way, size_t bytes, int64_t ns);

 private:
  /// Of several times the median counts: a process that was preempted says nothing about its way.
  struct Lately {
    static constexpr size_t kTimes = 5;
    static constexpr size_t kLeastTimes = 3;
    bool is_known() const { return times >= kLeastTimes; }

    std::array<double, kTimes> ns_per_byte{};
    size_t times = 0;  // that were told
    double latest = 0;
    double median = 0;
    uint32_t idle = 0;  // messages since one went this way
  };

  const Lately& of(Way way) const { return ways_[static_cast<size_t>(way)]; }
  bool is_due(Way way, Way best) const;
  Way cheapest(bool may_read) const;

  std::array<Lately, kWays> ways_;
  Way best_ = Way::Plain;
};

}  // namespace rondo::shm
