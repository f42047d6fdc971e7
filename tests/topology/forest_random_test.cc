// SPDX-License-Identifier: Apache-2.0
// Forests of random graphs: the search ends, the trees are what they should be, and in small graphs none is
// faster.
#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "catch.h"
#include "forest_checks.h"
#include "random_graphs.h"
#include "sanitized.h"
#include "seed.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// The fastest rate of up to 8 trees a root, by trying all scales and all cuts.
class AllCuts {
 public:
  explicit AllCuts(const TopologyGraph& graph) : nodes_(static_cast<int>(graph.nodes().size())), gpus_(0) {
    for (const int gpu : graph.gpus()) gpus_ |= 1U << gpu;
    for (const TopologyLink& link : graph.links())
      if (link.from != link.to) edges_[{link.from, link.to}] += link.kBps;
  }

  Rational fastest_rate() const {
    Rational best;
    for (int64_t k = 1; k <= 8; ++k) {
      const Rational rate =
          Rational::of(WideInteger{k} * least_scale(k).denominator(), least_scale(k).numerator()).value();
      best = std::max(best, rate);
    }
    return best;
  }

 private:
  Rational least_scale(int64_t k) const {
    std::set<Rational> scales;
    for (const auto& [ends, kBps] : edges_)
      for (int64_t whole = 1; whole <= k * std::popcount(gpus_) * 6; ++whole)
        scales.insert(Rational::of(whole, kBps).value());
    return *std::ranges::lower_bound(scales, true, {}, [&](const Rational& scale) { return fits(scale, k); });
  }

  bool fits(const Rational& scale, int64_t k) const {
    for (unsigned inside = 1; inside != 1U << nodes_; ++inside) {
      if ((inside & gpus_) == gpus_) continue;
      int64_t leaving = 0;
      for (const auto& [ends, kBps] : edges_)
        if ((inside >> ends.first & 1) != 0 && (inside >> ends.second & 1) == 0)
          leaving += static_cast<int64_t>(WideInteger{scale.numerator()} * kBps / scale.denominator());
      if (leaving < k * std::popcount(inside & gpus_)) return false;
    }
    return true;
  }

  const int nodes_;
  unsigned gpus_;
  std::map<std::pair<int, int>, int64_t> edges_;
};

bool joined(const TopologyGraph& graph) {
  const auto bound = bandwidth_bound(graph, graph.gpus(), CollectiveKind::AllGather);
  REQUIRE(bound.status().message() == "");
  return bound.value().ceiling > 0;
}

}  // namespace

TEST_CASE("in small graphs no scale and no k <= 8 is faster by 0.1%, both ways round") {
  RandomGraphs random(test_seed(4));
  int searched = 0;
  for (int i = 0; i != (kSanitized ? 20 : 100); ++i) {
    const TopologyGraph graph = random.symmetric(random.between(2, 5), random.between(0, 3));
    CAPTURE(i);
    if (!joined(graph)) continue;
    ++searched;
    const Forest forest = forest_of(graph);
    const Rational fastest = AllCuts(graph).fastest_rate();
    CHECK(reaches(
        forest.bus_kBps,
        Rational::of(WideInteger{fastest.numerator()} * std::ssize(graph.gpus()) - fastest.numerator(),
                     fastest.denominator())
            .value(),
        999));
    CHECK(forest_of(graph.reversed()).bus_kBps == forest.bus_kBps);
    CHECK_FALSE(forest.stopped);
  }
  CHECK(searched > 10);
}

TEST_CASE("the search ends on random graphs of up to 32 GPUs, and its forests are valid") {
  RandomGraphs random(test_seed(5));
  int searched = 0;
  for (int i = 0; i != (kSanitized ? 20 : 200); ++i) {
    const int gpus = random.chance(80) ? random.between(2, 8) : random.between(9, 32);
    const TopologyGraph graph = random.faulty(gpus, random.between(0, gpus));
    CAPTURE(i, gpus);
    const ForestOptions options{.max_flows = 20'000, .max_time = std::chrono::minutes(5)};
    if (joined(graph)) {
      ++searched;
      CHECK(forest_of(graph, options) == forest_of(graph, options));
    } else {
      CHECK(find_forest(graph, graph.gpus(), options).status().code() == Code::Unsupported);
    }
  }
  CHECK(searched > 10);
}
