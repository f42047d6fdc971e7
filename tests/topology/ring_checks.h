// SPDX-License-Identifier: Apache-2.0
// What tests of rings share: searches that must succeed, and what every plan has to be.
#pragma once

#include <algorithm>

#include "catch.h"
#include "limit/bound.h"
#include "search/find_rings.h"
#include "search/ring_load.h"

namespace rondo::test {

inline RingLoad load_of(const TopologyGraph& graph, std::span<const int> gpus,
                        std::span<const RingChannel> channels) {
  const auto load = ring_load(graph, gpus, channels);
  REQUIRE(load.status().message() == "");
  return load.value();
}

/// Checks that the orders alone say the same as the search: that the links suffice, and the bandwidth.
inline void check_rings(const TopologyGraph& graph, const RingPlan& plan) {
  const RingLoad load = load_of(graph, plan.gpus, plan.channels);
  CHECK(load.scale <= 1);
  CHECK(load.bus_kBps >= plan.bus_kBps);
  CHECK(plan.bus_kBps <= plan.bound_kBps);
  int64_t sum = 0;
  for (const RingChannel& channel : plan.channels) sum += channel.kBps;
  CHECK(plan.bus_kBps == sum);
  for (size_t i = 0; i != plan.channels.size(); ++i)
    for (size_t other = 0; other != i; ++other)
      CHECK((plan.channels[i].order != plan.channels[other].order ||
             plan.channels[i].nics != plan.channels[other].nics));
}

/// Searches without a limit in time, since other programs may leave a test little of it.
inline RingPlan rings_of(const TopologyGraph& graph, std::span<const int> gpus,
                         RingOptions options = {.max_time = std::chrono::hours(1)}) {
  const auto found = find_rings(graph, gpus, options);
  REQUIRE(found.status().message() == "");
  CHECK(std::ranges::equal(found.value().gpus, gpus));
  check_rings(graph, found.value());
  return found.value();
}

inline RingPlan rings_of(const TopologyGraph& graph) { return rings_of(graph, graph.gpus()); }

/// Whether plans that differ by whole kB/s for each channel are equally fast.
inline bool is_about(int64_t kBps, double expected, size_t channels) {
  return static_cast<double>(kBps) <= expected * (1 + 1e-6) &&
         static_cast<double>(kBps) >= expected * (1 - 1e-6) - static_cast<double>(channels);
}

}  // namespace rondo::test
