// SPDX-License-Identifier: Apache-2.0
// StallDetector: decides when a long wait is diagnosed: after a second, then each time it has lasted
// twice as long, and at its deadline. One object per wait, used by one thread.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace rondo {

class StallDetector {
 public:
  enum class Finding : uint8_t { Fine, Stalled, Overdue };

  /// Something moved, or there is nothing to wait for.
  void note_progress() {
    since_ns_ = now_ns();
    next_look_ns_ = kFirstLook_ns;
  }
  /// Stalled and Overdue: the wait should be diagnosed. Overdue: nothing has moved for `timeout_ms`.
  Finding judge(int64_t timeout_ms) { return judge((now_ns() - since_ns_) / 1'000'000 >= timeout_ms); }
  /// The same for a wait whose owner has its deadline.
  Finding judge(bool overdue) {
    const int64_t waited_ns = now_ns() - since_ns_;
    if (!overdue && waited_ns < next_look_ns_) return Finding::Fine;
    next_look_ns_ *= 2;
    return overdue ? Finding::Overdue : Finding::Stalled;
  }

 private:
  static constexpr int64_t kFirstLook_ns = 1'000'000'000;
  int64_t since_ns_ = 0;
  int64_t next_look_ns_ = kFirstLook_ns;
};

}  // namespace rondo
