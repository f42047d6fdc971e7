// SPDX-License-Identifier: Apache-2.0
// Graphs at random, for searches that have to cope with any.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "graph/topology_graph.h"
#include "limit_machines.h"

namespace rondo::test {

/// The same numbers on every platform.
class RandomChoices {
 public:
  explicit RandomChoices(uint64_t seed) : random_(seed) {}

  int between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

 protected:
  std::mt19937_64 random_;
};

class RandomGraphs : public RandomChoices {
 public:
  using RandomChoices::RandomChoices;

  /// GPUs below switches, as in machines, and links at random. Some links are missing one way or have another
  /// bandwidth.
  TopologyGraph faulty(int gpus, int switches) {
    start(gpus, switches);
    for (int i = gpus; i != gpus + switches; ++i)
      if (i > gpus) join(i, between(gpus, i - 1));
    for (int gpu = 0; gpu != gpus; ++gpu)
      if (switches > 0 && chance(90)) join(gpu, between(gpus, gpus + switches - 1));
    for (int i = between(0, 3 * gpus); i != 0; --i) join_any();
    for (TopologyLink& link : links_)
      if (chance(5)) link.kBps = std::max<int64_t>(link.kBps / between(1, 9), 1);
    std::erase_if(links_, [this](const TopologyLink&) { return chance(3); });
    return {nodes_, links_};
  }

  /// Links with the same bandwidth both ways, out of few bandwidths.
  TopologyGraph symmetric(int gpus, int switches) {
    start(gpus, switches);
    for (int i = between(gpus, 3 * (gpus + switches)); i != 0; --i) join_any();
    return {nodes_, links_};
  }

 private:
  void start(int gpus, int switches) {
    nodes_.clear();
    links_.clear();
    unit_ = chance(30) ? between(1, 20'000'000) : 1'000'000;
    for (int dev = 0; dev != gpus; ++dev) nodes_.push_back(gpu_node(dev));
    for (int i = 0; i != switches; ++i)
      nodes_.push_back(
          other_node(chance(50) ? NodeKind::PciSwitch : NodeKind::NvSwitch, fmt::format("switch{}", i)));
  }

  void join_any() {
    const int last = static_cast<int>(nodes_.size()) - 1;
    join(between(0, last), between(0, last));
  }

  void join(int a, int b) {
    const int64_t kBps = unit_ * between(1, 6);
    links_.push_back({a, b, LinkClass::Pcie, 1, kBps});
    links_.push_back({b, a, LinkClass::Pcie, 1, kBps});
  }

  int64_t unit_ = 1;
  std::vector<TopologyNode> nodes_;
  std::vector<TopologyLink> links_;
};

}  // namespace rondo::test
