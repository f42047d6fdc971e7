// SPDX-License-Identifier: Apache-2.0
#include "base/timed_choice.h"

#include <algorithm>
#include <bit>

namespace rondo {
namespace {

constexpr TimedChoice::Ways kAll = (1U << TimedChoice::kMaxWays) - 1;

/// A way replaces the best only if it takes less than this fraction of its time: hysteresis against noise.
constexpr double kBetter = 0.9;
/// A trial costs an extra (its time / the best time - 1) transfers, so a trial every kTrialInterval times
/// that many transfers adds 1 %.
constexpr double kTrialInterval = 100;
constexpr double kLongestInterval = 10'000;
/// For a way with too few samples, or whose latest time was surprisingly short.
constexpr uint32_t kShortInterval = 4;
/// A caller may take a way for longer than it was told to, such as for all transfers that overlap.
constexpr uint32_t kLongestRow = 64;
/// Except if its time was this multiple of the best one's.
constexpr double kHopeless = 2;

}  // namespace

size_t TimedChoice::next(Ways allowed, bool is_timed) const {
  if (in_row_ < row_ && is_in(sluggish_ & allowed, latest_)) return latest_;
  const size_t best = is_in(allowed, best_) ? best_ : cheapest(allowed);
  if (!is_timed) return best;
  for (size_t way = 0; way < kMaxWays; ++way)
    if (way != best && is_in(allowed, way) && is_due(way, best)) return way;
  return best;
}

bool TimedChoice::is_due(size_t way, size_t best) const {
  const RecentTimes& own = ways_[way];
  const RecentTimes& other = ways_[best];
  const bool is_hopeless = other.is_known() && own.latest > kHopeless * other.median;
  if (!own.is_known() && is_hopeless) return own.idle >= kTrialInterval;
  if (!own.is_known() || own.latest < kBetter * other.median) return own.idle >= kShortInterval;
  if (!other.is_known()) return false;
  const double trial = std::max(is_in(sluggish_, way) ? row_ : 1, own.row);
  const double extra = trial * (own.median / other.median - 1);
  const double interval = kTrialInterval * std::max({1.0, trial / 4, extra});
  return own.idle >= std::min(interval, trial * kLongestInterval);
}

void TimedChoice::takes(size_t way) {
  has_taken_ = true;
  for (RecentTimes& each : ways_) ++each.idle;
  ways_[way].idle = 0;
  if (way != latest_) ways_[latest_].row = std::min(in_row_, kLongestRow);
  in_row_ = way == latest_ ? in_row_ + 1 : 1;
  latest_ = way;
}

void TimedChoice::took(size_t way, size_t bytes, int64_t ns) {
  RecentTimes& own = ways_[way];
  own.latest = static_cast<double>(ns) / static_cast<double>(bytes);
  own.ns_per_byte[own.times++ % RecentTimes::kTimes] = own.latest;
  auto sorted = own.ns_per_byte;
  const auto end = sorted.begin() + static_cast<ptrdiff_t>(std::min(own.times, RecentTimes::kTimes));
  std::sort(sorted.begin(), end);
  own.median = sorted[static_cast<size_t>(end - sorted.begin()) / 2];
  const RecentTimes& best = ways_[best_];
  const size_t found = cheapest(kAll);
  if (ways_[found].is_known() && (!best.is_known() || ways_[found].median < kBetter * best.median))
    best_ = found;
}

/// The cheapest way among those with enough samples.
size_t TimedChoice::cheapest(Ways allowed) const {
  auto found = static_cast<size_t>(std::countr_zero(allowed));
  for (size_t way = 0; way < kMaxWays; ++way) {
    const bool is_able = ways_[way].is_known() && is_in(allowed, way);
    if (is_able && (!ways_[found].is_known() || ways_[way].median < ways_[found].median)) found = way;
  }
  return found;
}

}  // namespace rondo
