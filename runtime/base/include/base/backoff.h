// SPDX-License-Identifier: Apache-2.0
// Backoff: how a thread waits between two polls, everywhere in the library. It spins while an answer may be a
// moment away, then yields, then sleeps for longer and longer. If yielding brings the answer at once, the
// thread shares its core with the one it waits for, and its next waits spin less. One object per wait, used
// by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/clock.h"

namespace rondo {

class Backoff {
 public:
  /// `oversubscribed`: ranks outnumber the cores, so that a spinning thread may keep the one it waits for
  /// from running. `sleep(ns)` sleeps for at most that long, and wakes when there may be something to do;
  /// null: it sleeps that long.
  explicit Backoff(bool oversubscribed, std::function<void(int64_t ns)> sleep = nullptr)
      : oversubscribed_(oversubscribed), sleep_(std::move(sleep)) {}

  /// Something moved. True now and then, when what has not moved should be checked all the same.
  bool moved() {
    if (turns_ != 0) {
      learn();
      turns_ = 0;
      since_ns_ = 0;
    }
    return ++moves_ % kMovesBetweenLooks == 0 && is_due();
  }
  /// Nothing moved: waits a little. True now and then, when slower things (deadline, peers) should be
  /// checked.
  bool wait();
  /// How long nothing has moved, as of the last wait() that was true.
  int64_t waited_ns() const { return waited_ns_; }

 private:
  static constexpr uint32_t kMovesBetweenLooks = 256;

  uint32_t spins() const;
  void learn() const;
  bool is_due();

  bool oversubscribed_;
  std::function<void(int64_t ns)> sleep_;
  uint32_t turns_ = 0;
  int64_t since_ns_ = 0;
  int64_t waited_ns_ = 0;
  uint32_t moves_ = 0;
  int64_t due_ns_ = 0;  // for what has not moved
};

/// Polls `ready()` without spinning until it is true, which is the result, or the deadline has passed. For
/// waits that no short call goes through.
template <typename Ready>
bool wait_until(Ready&& ready, const Deadline& deadline) {
  Backoff backoff(true);
  while (!ready()) {
    if (backoff.wait() && deadline.passed()) return ready();
  }
  return true;
}

/// The same for what ends by itself, such as calls, which have deadlines.
template <typename Ready>
void wait_until(Ready&& ready) {
  Backoff backoff(true);
  while (!ready()) backoff.wait();
}

/// How long to spin before yielding if ranks outnumber cores: about as long as a peer on another core takes
/// to answer, and less than a switch to another rank costs.
class OversubscribedSpin {
 public:
  /// Never over unless `oversubscribed`.
  OversubscribedSpin(bool oversubscribed, int64_t spin_ns)
      : oversubscribed_(oversubscribed), spin_ns_(spin_ns) {}
  bool is_over() {
    if (!oversubscribed_) return false;
    if (began_ns_ == 0) began_ns_ = now_ns();
    return now_ns() - began_ns_ > spin_ns_;
  }

 private:
  bool oversubscribed_;
  int64_t spin_ns_;
  int64_t began_ns_ = 0;
};

}  // namespace rondo
