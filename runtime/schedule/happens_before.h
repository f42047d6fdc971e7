// Vector clocks: which Steps of which lanes are certainly over when another one starts. Order comes from a
// lane's list, from waits, and from messages; not from slots becoming free, so that it holds at any depth.
// Owned by one run of the verifier, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

namespace rondo {

using Clock = std::vector<uint32_t>;  // for each lane of all ranks, the Steps that are certainly over

class HappensBefore {
 public:
  /// Does nothing where every rank has one lane: then there is nothing to order.
  explicit HappensBefore(const std::vector<Schedule>& ranks);

  bool tracks() const { return tracks_; }
  /// A number for each lane of all ranks.
  size_t index(size_t rank, size_t lane) const { return first_lane_[rank] + lane; }
  /// What the next Step of the lane knows to be over.
  const Clock& clock(size_t index) const { return clocks_[index]; }

  void join(size_t index, const Clock& other);
  /// The next Step starts; returns its number, from 1.
  uint32_t tick(size_t index) { return ++clocks_[index][index]; }
  bool is_over(size_t index, size_t other, uint32_t number) const { return clocks_[index][other] >= number; }

 private:
  bool tracks_ = false;
  std::vector<size_t> first_lane_;
  std::vector<Clock> clocks_;
};

}  // namespace rondo
