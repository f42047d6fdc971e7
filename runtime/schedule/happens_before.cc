// SPDX-License-Identifier: Apache-2.0
#include "happens_before.h"

#include <algorithm>

namespace rondo {

HappensBefore::HappensBefore(const std::vector<Schedule>& ranks) : ends_{0, 0} {
  for (const Schedule& schedule : ranks) {
    first_lane_.push_back(lanes_.size());
    lanes_.resize(lanes_.size() + schedule.lanes.size(),
                  {.rank = static_cast<uint32_t>(first_lane_.size()) - 1});
    tracks_ = tracks_ || schedule.lanes.size() > 1;
  }
}

const Clock& HappensBefore::clock(size_t index) {
  LaneClock& own = lanes_[index];
  if (std::exchange(own.told, own.number) == own.number) return own.clock;
  const auto at = std::ranges::lower_bound(own.clock, own.rank, {}, &KnownRank::rank);
  const bool is_known = at != own.clock.end() && at->rank == own.rank;
  const uint32_t record = with(is_known ? at->record : 0, {static_cast<uint32_t>(index), own.number});
  if (is_known)
    at->record = record;
  else
    own.clock.insert(at, {own.rank, record});
  return own.clock;
}

void HappensBefore::join(size_t index, const Clock& other) {
  Clock& own = lanes_[index].clock;
  compared_ += static_cast<int64_t>(own.size() + other.size());
  size_t at = 0;
  for (const KnownRank& known : other) {
    while (at != own.size() && own[at].rank < known.rank) ++at;
    if (at == own.size() || own[at].rank != known.rank)
      own.insert(own.begin() + static_cast<std::ptrdiff_t>(at), known);
    else
      own[at].record = joined(own[at].record, known.record);
  }
}

bool HappensBefore::is_over(size_t index, size_t other, uint32_t number) const {
  const Clock& own = lanes_[index].clock;
  const uint32_t rank = lanes_[other].rank;
  const auto known = std::ranges::lower_bound(own, rank, {}, &KnownRank::rank);
  if (known == own.end() || known->rank != rank) return false;
  const LaneSteps* const last = end(known->record);
  const LaneSteps* const found = find(begin(known->record), last, static_cast<uint32_t>(other));
  return found != last && found->lane == other && found->number >= number;
}

/// The first entry from `at` on that is of this lane or a later one, or `end`. Mostly it is near.
const HappensBefore::LaneSteps* HappensBefore::find(const LaneSteps* at, const LaneSteps* end,
                                                    uint32_t lane) {
  std::ptrdiff_t step = 1;
  for (; end - at >= step && at[step - 1].lane < lane; step *= 2) at += step;
  return std::lower_bound(at, at + std::min(step, end - at), lane,
                          [](const LaneSteps& steps, uint32_t wanted) { return steps.lane < wanted; });
}

/// Whether a record knows all that another one knows.
bool HappensBefore::contains(uint32_t large, uint32_t small) const {
  const LaneSteps* known = begin(large);
  for (const LaneSteps* wanted = begin(small); wanted != end(small); ++wanted, ++known) {
    if (known != end(large) && known->lane < wanted->lane) known = find(known, end(large), wanted->lane);
    if (known == end(large) || known->lane != wanted->lane || known->number < wanted->number) return false;
  }
  return true;
}

/// The record that knows what either knows.
uint32_t HappensBefore::joined(uint32_t a, uint32_t b) {
  if (a == b) return a;
  const std::ptrdiff_t a_size = end(a) - begin(a), b_size = end(b) - begin(b);
  compared_ += a_size + b_size;
  if (a_size >= b_size && contains(a, b)) return a;
  if (b_size >= a_size && contains(b, a)) return b;
  made_.clear();
  const LaneSteps *one = begin(a), *other = begin(b);
  while (one != end(a) && other != end(b)) {
    if (one->lane != other->lane) {
      made_.push_back(one->lane < other->lane ? *one++ : *other++);
    } else {
      made_.push_back({one->lane, std::max(one->number, other->number)});
      ++one;
      ++other;
    }
  }
  made_.insert(made_.end(), one, end(a));
  made_.insert(made_.end(), other, end(b));
  return keep_made();
}

/// The record with another number of a lane's Steps.
uint32_t HappensBefore::with(uint32_t record, LaneSteps steps) {
  const LaneSteps* const at = find(begin(record), end(record), steps.lane);
  const bool is_known = at != end(record) && at->lane == steps.lane;
  compared_ += end(record) - begin(record);
  made_.assign(begin(record), at);
  made_.push_back(steps);
  made_.insert(made_.end(), at + (is_known ? 1 : 0), end(record));
  return keep_made();
}

uint32_t HappensBefore::keep_made() {
  done_.insert(done_.end(), made_.begin(), made_.end());
  ends_.push_back(done_.size());
  return static_cast<uint32_t>(ends_.size()) - 2;
}

}  // namespace rondo
