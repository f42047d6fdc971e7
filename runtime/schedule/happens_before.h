// SPDX-License-Identifier: Apache-2.0
// Vector clocks of a symbolic run: which Steps of which lanes are certain to be done when another one starts.
// Order follows from a lane's list, from waits, and from messages, but not from slots becoming free, so it
// holds at any depth. Most lanes know of few others, and what is known of a rank is mostly the same wherever
// it is known: clocks hold only what is known, and share it. Owned by one run of the verifier, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "schedule/schedule.h"

namespace rondo {

/// What is known of the lanes of one rank, as an index into HappensBefore's records.
struct KnownRank {
  uint32_t rank = 0;
  uint32_t record = 0;
};
using Clock = std::vector<KnownRank>;  // in the order of ranks

class HappensBefore {
 public:
  /// Does nothing if every rank has a single lane: then there is nothing to order.
  explicit HappensBefore(const std::vector<Schedule>& ranks);

  bool tracks() const { return tracks_; }
  /// The global index of a rank's lane.
  size_t index(size_t rank, size_t lane) const { return first_lane_[rank] + lane; }
  /// What is certain to be done after the lane's latest Step.
  const Clock& clock(size_t index);

  void join(size_t index, const Clock& other);
  /// Starts the lane's next Step; returns its 1-based number.
  uint32_t tick(size_t index) { return ++lanes_[index].number; }
  /// Whether the Step of another lane is certain to be done.
  bool is_over(size_t index, size_t other, uint32_t number) const;

  /// What memory and time grow with: entries of records and of clocks that were written or compared.
  int64_t kept() const { return static_cast<int64_t>(done_.size()); }
  int64_t compared() const { return compared_; }

 private:
  /// Steps of a lane that are done.
  struct LaneSteps {
    uint32_t lane = 0;
    uint32_t number = 0;
  };
  struct LaneClock {
    uint32_t rank = 0;
    uint32_t number = 0;  // of its latest Step
    uint32_t told = 0;    // of the Step that `clock` includes
    Clock clock;
  };

  static const LaneSteps* find(const LaneSteps* at, const LaneSteps* end, uint32_t lane);
  bool contains(uint32_t large, uint32_t small) const;
  uint32_t joined(uint32_t a, uint32_t b);
  uint32_t with(uint32_t record, LaneSteps steps);
  uint32_t keep_made();
  const LaneSteps* begin(uint32_t record) const { return done_.data() + ends_[record]; }
  const LaneSteps* end(uint32_t record) const { return done_.data() + ends_[record + 1]; }

  bool tracks_ = false;
  std::vector<size_t> first_lane_;
  std::vector<LaneClock> lanes_;
  std::vector<LaneSteps> done_;  // of all records, each in the order of lanes
  std::vector<size_t> ends_;     // in done_, of the record before; record 0 is empty
  std::vector<LaneSteps> made_;  // the record that is being made
  int64_t compared_ = 0;
};

}  // namespace rondo
