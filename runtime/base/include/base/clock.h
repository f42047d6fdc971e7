// Time: the monotonic clock in nanoseconds, and deadlines on it. Any thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace rondo {

/// Nanoseconds of the monotonic clock.
inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A point in time after which a wait has lasted too long.
class Deadline {
 public:
  static Deadline in_ms(int64_t timeout_ms) { return Deadline(now_ns() + timeout_ms * 1'000'000); }

  bool passed() const { return now_ns() >= at_ns_; }
  int64_t at_ns() const { return at_ns_; }
  /// Milliseconds left, rounded up, at least 0: what poll() takes.
  int left_ms() const {
    const int64_t left_ns = at_ns_ - now_ns();
    return left_ns <= 0 ? 0 : static_cast<int>((left_ns + 999'999) / 1'000'000);
  }

 private:
  explicit Deadline(int64_t at_ns) : at_ns_(at_ns) {}
  int64_t at_ns_;
};

}  // namespace rondo
