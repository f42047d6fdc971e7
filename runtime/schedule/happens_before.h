// SPDX-License-Identifier: Apache-2.0
// Vector clocks: which Steps of which lanes are certain to be done when another one starts. Order follows
// from a lane's list, from waits, and from messages, but not from slots becoming free, so it holds at any
// depth. Owned by one run of the verifier, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

namespace rondo {

using Clock = std::vector<uint32_t>;  // for each lane of all ranks, the Steps that are certain to be done

class HappensBefore {
 public:
  /// Does nothing if every rank has a single lane: then there is nothing to order.
  explicit HappensBefore(const std::vector<Schedule>& ranks);

  bool tracks() const { return tracks_; }
  /// The global index of a rank's lane.
  size_t index(size_t rank, size_t lane) const { return first_lane_[rank] + lane; }
  /// The Steps that are known to be done when the lane's next Step starts.
  const Clock& clock(size_t index) const { return clocks_[index]; }

  void join(size_t index, const Clock& other);
  /// Starts the lane's next Step; returns its 1-based number.
  uint32_t tick(size_t index) { return ++clocks_[index][index]; }
  bool is_over(size_t index, size_t other, uint32_t number) const { return clocks_[index][other] >= number; }

 private:
  bool tracks_ = false;
  std::vector<size_t> first_lane_;
  std::vector<Clock> clocks_;
};

}  // namespace rondo
