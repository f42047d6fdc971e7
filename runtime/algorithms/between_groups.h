// SPDX-License-Identifier: Apache-2.0
// What an algorithm over levels (over_levels.h) is made of: the call between the groups of the smallest
// level, and the Schedule around it. Pure functions: any thread.
#pragma once

#include <optional>

#include "over_levels.h"

namespace rondo {

/// The call that the ranks at one place of all groups make, and the algorithm for it, which is one over
/// levels itself if there are more levels. `across` outlives this.
class Between {
 public:
  Between(const Algorithm& across, const Shape& shape);

  const Shape& call() const { return call_; }
  bool supports() const { return algorithm().supports(call_); }
  int parts() const { return algorithm().parts(call_); }
  int max_count() const { return algorithm().max_count(call_); }
  Cost cost() const { return algorithm().cost(call_); }
  Cost inner_cost(int level) const { return algorithm().inner_cost(call_, level); }
  /// Of all levels.
  double rounds() const;
  Schedule build(int group) const { return algorithm().build(call_, group); }

  /// Several blocks in a message between groups: those have to be consecutive, and are collected in Scratch.
  bool collects() const;
  /// In how many messages a share travels within a group: in one, or chunk by chunk, if they travel so
  /// between groups, one after the other.
  int pieces() const;

 private:
  const Algorithm& algorithm() const { return over_ ? *over_ : across_; }

  const Algorithm& across_;
  Shape call_;
  std::optional<Algorithm> over_;
};

/// What one rank does.
Schedule schedule_over(const Between& between, const Shape& shape, int rank, int parts, int slot_chunks);

}  // namespace rondo
