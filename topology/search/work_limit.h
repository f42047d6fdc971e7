// SPDX-License-Identifier: Apache-2.0
// WorkLimit: when a search has to end. It is asked before every flow, or step that takes as long:
// microseconds. Once over, it stays over. A limit in steps ends a search at the same point on every host, one
// in time does not.
#pragma once

#include <chrono>
#include <cstdint>

namespace rondo {

class WorkLimit {
 public:
  WorkLimit(int64_t max_flows, std::chrono::nanoseconds max_time)
      : flows_left_(max_flows), start_(Clock::now()), max_time_(max_time) {}

  /// Counts steps, and says whether there is time for them.
  bool allows(int64_t steps) {
    over_ = over_ || flows_left_ < steps || Clock::now() - start_ >= max_time_;
    if (!over_) flows_left_ -= steps;
    return !over_;
  }
  bool allows_flow() { return allows(1); }
  bool over() const { return over_; }

  /// A limit of half of what is left, for a step that must leave time for the next.
  WorkLimit half() const { return {flows_left_ / 2, (max_time_ - (Clock::now() - start_)) / 2}; }
  /// Counts the flows of such a step.
  void count(const WorkLimit& half) { flows_left_ -= flows_left_ / 2 - half.flows_left_; }

 private:
  using Clock = std::chrono::steady_clock;

  int64_t flows_left_;
  Clock::time_point start_;
  std::chrono::nanoseconds max_time_;
  bool over_ = false;
};

}  // namespace rondo
