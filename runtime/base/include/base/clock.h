// SPDX-License-Identifier: Apache-2.0
// Time: the monotonic clock in nanoseconds, and deadlines on it. Any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace rondo {

/// Nanoseconds of the monotonic clock.
inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The point in time at which a wait gives up.
class Deadline {
 public:
  static Deadline in_ms(int64_t timeout_ms) {
    const int64_t now = now_ns();
    const int64_t max_ms = (std::numeric_limits<int64_t>::max() - now) / kMillisecond_ns;
    return Deadline(now + std::min(timeout_ms, max_ms) * kMillisecond_ns);
  }

  bool passed() const { return now_ns() >= at_ns_; }
  int64_t at_ns() const { return at_ns_; }
  /// Milliseconds left, rounded up, from 0 to poll()'s maximum.
  int left_ms() const {
    const int64_t left_ms = (at_ns_ - now_ns() + kMillisecond_ns - 1) / kMillisecond_ns;
    return static_cast<int>(std::clamp<int64_t>(left_ms, 0, std::numeric_limits<int>::max()));
  }

 private:
  static constexpr int64_t kMillisecond_ns = 1'000'000;
  explicit Deadline(int64_t at_ns) : at_ns_(at_ns) {}
  int64_t at_ns_;
};

}  // namespace rondo
