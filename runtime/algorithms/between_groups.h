// SPDX-License-Identifier: Apache-2.0
// What an algorithm over levels (over_levels.h) is made of: the calls between the groups of the smallest
// level, the shares that these are for, and the Schedule around them. Pure functions: any thread.
#pragma once

#include <optional>
#include <vector>

#include "over_levels.h"

namespace rondo {

/// The call that the ranks at one place of all groups make, and the algorithm for it, which is one over
/// levels itself if there are more levels. `across` outlives this.
class Between {
 public:
  Between(const Algorithm& across, const Shape& shape, int place = 0);
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;

  const Shape& call() const { return call_; }
  bool supports() const { return algorithm().supports(call_); }
  int parts() const { return algorithm().parts(call_); }
  /// The parts of the whole vector that each part of a call with one stands for.
  int scale() const { return scale_; }
  int max_count() const { return algorithm().max_count(call_); }
  Cost cost() const { return algorithm().cost(call_); }
  Cost inner_cost(int level) const { return algorithm().inner_cost(call_, level); }
  /// Of all levels, if calls follow one another, whose exchanges within groups overlap.
  double rounds(double calls) const;
  /// Whether the calls of other places may be different.
  bool depends_on_place() const { return depends_on_place_; }
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
  int scale_ = 1;
  bool depends_on_place_ = false;
  std::vector<int> weights_;
  std::optional<Algorithm> over_;
};

/// Consecutive parts of the block that the rank at `place` of each group has.
struct PartRun {
  int place = 0;
  int first = 0;
  int count = 1;
};

/// Which parts of the vector, or of the blocks of any of the smallest groups, each place of these handles.
/// They are consecutive, from block to block, and as many as the place's ranks weigh.
class Shares {
 public:
  Shares(const Algorithm& across, const Shape& shape);

  /// Of the vector, or of each block.
  int parts() const { return has_blocks_ ? all() / places_ : all(); }
  int first(int place) const { return firsts_.empty() ? place * each_ : firsts_[static_cast<size_t>(place)]; }
  int length(int place) const { return first(place + 1) - first(place); }
  int all() const { return first(places_); }
  /// The place that has most.
  int largest() const;
  /// Of blocks: the share of a place, at least one run; and whether places handle others' blocks, too.
  std::vector<PartRun> runs(int place) const;
  bool cross_blocks() const;

 private:
  bool has_blocks_;
  int places_;
  int each_;
  std::vector<int> firsts_;  // if they differ: of each place, and all
};

/// What one rank does.
Schedule schedule_over(const Algorithm& across, const Shape& shape, int rank, int slot_chunks);

}  // namespace rondo
