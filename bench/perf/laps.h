// SPDX-License-Identifier: Apache-2.0
// A stopwatch of laps: the times of consecutive iterations by a clock that the caller reads. Used by one
// thread.
#pragma once

#include <utility>
#include <vector>

namespace rondo::perf {

/// Times of consecutive iterations, if they are wanted; `from` is when the first one starts.
class Laps {
 public:
  Laps(bool wanted, int iterations, double from) : wanted_(wanted), from_(from) {
    if (wanted) times_us_.reserve(static_cast<size_t>(iterations));
  }

  /// Whether iterations are timed.
  explicit operator bool() const { return wanted_; }
  /// An iteration ends, and the next one starts.
  void end(double now) { end(now, now); }
  /// An iteration ends, and the next one starts later.
  void end(double now, double next) {
    if (!wanted_) return;
    times_us_.push_back(now - from_);
    from_ = next;
  }
  std::vector<double> take() { return std::move(times_us_); }

 private:
  bool wanted_;
  double from_;
  std::vector<double> times_us_;
};

}  // namespace rondo::perf
