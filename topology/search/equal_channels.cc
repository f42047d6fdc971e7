// SPDX-License-Identifier: Apache-2.0
#include "search/equal_channels.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

namespace rondo {
namespace {

int64_t count_at(std::span<const RingChannel> channels, int64_t kBps) {
  int64_t count = 0;
  for (const RingChannel& channel : channels) count += channel.kBps / kBps;
  return count;
}

/// The best speed is a channel's divided by a whole number, or the cap: any other can be raised to one of
/// them.
std::set<int64_t, std::greater<>> speeds_worth_a_try(std::span<const RingChannel> channels, int max_channels,
                                                     int64_t max_kBps) {
  std::set<int64_t, std::greater<>> speeds;
  if (max_kBps > 0) speeds.insert(max_kBps);
  for (const RingChannel& channel : channels)
    for (int parts = 1; parts <= max_channels; ++parts)
      if (const int64_t kBps = channel.kBps / parts; kBps > 0 && kBps <= max_kBps) speeds.insert(kBps);
  return speeds;
}

}  // namespace

std::vector<RingChannel> equal_channels(std::span<const RingChannel> channels, int max_channels,
                                        int64_t max_kBps) {
  int64_t best_kBps = 0, best_count = 0;
  for (const int64_t kBps : speeds_worth_a_try(channels, max_channels, max_kBps)) {
    const int64_t count = std::min<int64_t>(count_at(channels, kBps), max_channels);
    if (count * kBps <= best_count * best_kBps) continue;
    best_kBps = kBps;
    best_count = count;
  }
  std::vector<RingChannel> result;
  std::vector<RingChannel> fastest_first(channels.begin(), channels.end());
  std::ranges::stable_sort(fastest_first, std::greater(), &RingChannel::kBps);
  for (RingChannel& channel : fastest_first) {
    const int64_t parts = best_kBps > 0 ? channel.kBps / best_kBps : 0;
    channel.kBps = best_kBps;
    for (int64_t i = 0; i != parts && std::ssize(result) != max_channels; ++i) result.push_back(channel);
  }
  return result;
}

int64_t usual_channel_kBps(const TopologyGraph& graph) {
  int64_t of_fabric = std::numeric_limits<int64_t>::max(), of_any = 1;
  for (const TopologyLink& link : graph.links()) {
    of_any = std::max(of_any, link.kBps);
    if (is_fabric(link.cls)) of_fabric = std::min(of_fabric, link.kBps / std::max(link.count, 1));
  }
  return of_fabric != std::numeric_limits<int64_t>::max() ? std::max<int64_t>(of_fabric, 1) : of_any;
}

}  // namespace rondo
