// SPDX-License-Identifier: Apache-2.0
#include "shm/way_chooser.h"

#include <algorithm>

namespace rondo::shm {
namespace {

constexpr std::array<Way, kWays> kAll{Way::Plain, Way::Streaming, Way::Read};

/// A way replaces the best only if it takes less than this fraction of its time: hysteresis against noise.
constexpr double kBetter = 0.9;
/// A trial costs an extra (its time / the best time - 1) messages, so a trial every kTrialInterval times that
/// many messages adds 1 %.
constexpr double kTrialInterval = 100;
constexpr double kLongestInterval = 10'000;
/// For a way with too few samples, or whose latest time was surprisingly short.
constexpr uint32_t kShortInterval = 4;

}  // namespace

Way WayChooser::next(bool may_read) const {
  const Way best = best_ == Way::Read && !may_read ? cheapest(may_read) : best_;
  for (const Way way : kAll)
    if (way != best && (way != Way::Read || may_read) && is_due(way, best)) return way;
  return best;
}

bool WayChooser::is_due(Way way, Way best) const {
  const RecentTimes& own = of(way);
  const RecentTimes& other = of(best);
  if (!own.is_known() || own.latest < kBetter * other.median) return own.idle >= kShortInterval;
  if (!other.is_known()) return false;
  const double interval = kTrialInterval * std::max(1.0, own.median / other.median - 1);
  return own.idle >= std::min(interval, kLongestInterval);
}

void WayChooser::sent(Way way) {
  for (RecentTimes& each : ways_) ++each.idle;
  ways_[static_cast<size_t>(way)].idle = 0;
}

void WayChooser::took(Way way, size_t bytes, int64_t ns) {
  RecentTimes& own = ways_[static_cast<size_t>(way)];
  own.latest = static_cast<double>(ns) / static_cast<double>(bytes);
  own.ns_per_byte[own.times++ % RecentTimes::kTimes] = own.latest;
  auto sorted = own.ns_per_byte;
  const auto end = sorted.begin() + static_cast<ptrdiff_t>(std::min(own.times, RecentTimes::kTimes));
  std::sort(sorted.begin(), end);
  own.median = sorted[static_cast<size_t>(end - sorted.begin()) / 2];
  const Way found = cheapest(true);
  if (of(found).median < kBetter * of(best_).median) best_ = found;
}

/// The cheapest way among those with enough samples.
Way WayChooser::cheapest(bool may_read) const {
  Way found = Way::Plain;
  for (const Way way : kAll) {
    const bool is_able = of(way).is_known() && (way != Way::Read || may_read);
    if (is_able && (!of(found).is_known() || of(way).median < of(found).median)) found = way;
  }
  return found;
}

}  // namespace rondo::shm
