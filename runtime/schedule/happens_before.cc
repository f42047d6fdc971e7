// SPDX-License-Identifier: Apache-2.0
#include "happens_before.h"

#include <algorithm>

namespace rondo {

HappensBefore::HappensBefore(const std::vector<Schedule>& ranks) {
  size_t lanes = 0;
  for (const Schedule& schedule : ranks) {
    first_lane_.push_back(lanes);
    lanes += schedule.lanes.size();
    tracks_ = tracks_ || schedule.lanes.size() > 1;
  }
  if (tracks_) clocks_.assign(lanes, Clock(lanes, 0));
}

void HappensBefore::join(size_t index, const Clock& other) {
  Clock& own = clocks_[index];
  for (size_t i = 0; i < own.size(); ++i) own[i] = std::max(own[i], other[i]);
}

}  // namespace rondo
