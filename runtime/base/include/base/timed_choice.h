// SPDX-License-Identifier: Apache-2.0
// TimedChoice: which of a few ways to move bytes is taken next, from how long recent transfers took. Which is
// fastest depends on the machine and on where two ranks run, and a hypervisor may change that at run time.
// The caller measures and reports durations. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rondo {

class TimedChoice {
 public:
  static constexpr size_t kMaxWays = 4;
  /// A bit for each way.
  using Ways = uint32_t;

  TimedChoice() = default;
  /// `sluggish`: ways whose time depends on how the transfers before went, so that they are tried for `row`
  /// transfers, of which the last count; at least 3.
  explicit TimedChoice(Ways sluggish, uint32_t row = 24) : sluggish_(sluggish), row_(row), in_row_(row) {}

  uint32_t row() const { return row_; }
  /// The way of the next transfer, one of `allowed`; unchanged until takes() or took(). Slower ways are
  /// retried so rarely that each costs about 1 %. `is_timed`: whether its time will be reported; no trial
  /// begins with one that is not.
  size_t next(Ways allowed, bool is_timed = true) const;
  /// Whether a transfer has taken any way.
  bool has_taken() const { return has_taken_; }
  /// A transfer takes this way.
  void takes(size_t way);
  /// The time of recent transfers that took it; 0 if there were too few.
  double ns_per_byte(size_t way) const { return ways_[way].is_known() ? ways_[way].median : 0; }
  /// Reports the time of one.
  void took(size_t way, size_t bytes, int64_t ns);

 private:
  /// Recent times of one way. The median counts, so that a preempted process does not distort it.
  struct RecentTimes {
    static constexpr size_t kTimes = 9;
    static constexpr size_t kMinTimes = 3;
    bool is_known() const { return times >= kMinTimes; }

    std::array<double, kTimes> ns_per_byte{};
    size_t times = 0;  // reported so far
    double latest = 0;
    double median = 0;
    uint32_t idle = 0;  // transfers since this way was last taken
    uint32_t row = 0;   // how often it was taken then, without another in between
  };

  static bool is_in(Ways ways, size_t way) { return (ways >> way & 1) != 0; }
  bool is_due(size_t way, size_t best) const;
  size_t cheapest(Ways allowed) const;

  std::array<RecentTimes, kMaxWays> ways_;
  Ways sluggish_ = 0;
  uint32_t row_ = 1;
  size_t best_ = 0;
  size_t latest_ = 0;
  bool has_taken_ = false;
  uint32_t in_row_ = 1;  // the latest transfers that took the same way; those before have taken way 0
};

}  // namespace rondo
