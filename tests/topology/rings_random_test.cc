// SPDX-License-Identifier: Apache-2.0
// Rings of random graphs: the search ends, its rings verify, and in small graphs none are faster.
#include <algorithm>
#include <numeric>

#include "catch.h"
#include "random_graphs.h"
#include "ring_checks.h"
#include "sanitized.h"
#include "seed.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// The linear program of all rings at once, by the textbook: a tableau of doubles, Bland's rule.
class AllRings {
 public:
  explicit AllRings(const TopologyGraph& graph) : graph_(graph) {
    std::vector<int> order(graph.gpus().size());
    std::iota(order.begin(), order.end(), 0);
    do {
      const RingChannel ring{order, {}, 1};
      const auto load = ring_load(graph, graph.gpus(), {&ring, 1});
      if (load.ok() && !leads_through_gpu(load.value())) loads_.push_back(load.value().link_kBps);
    } while (std::next_permutation(order.begin() + 1, order.end()));
  }

  bool are_there() const { return !loads_.empty(); }

  double fastest() {
    const size_t links = graph_.links().size(), rings = loads_.size();
    std::vector<std::vector<double>> rows(links + 1, std::vector<double>(rings + links + 1));
    for (size_t link = 0; link != links; ++link) {
      for (size_t ring = 0; ring != rings; ++ring) rows[link][ring] = loads_[ring][link].approximate();
      rows[link][rings + link] = 1;
      rows[link].back() = static_cast<double>(graph_.links()[link].kBps);
    }
    for (size_t ring = 0; ring != rings; ++ring) rows[links][ring] = -1;
    while (improve(rows)) continue;
    return rows[links].back();
  }

 private:
  static constexpr double kTiny = 1e-9;

  /// Through a GPU two hops meet: what enters it is more than what its own hop brings.
  bool leads_through_gpu(const RingLoad& load) const {
    return std::ranges::any_of(graph_.gpus(), [&](int gpu) {
      double entering = 0;
      for (size_t link = 0; link != graph_.links().size(); ++link)
        if (graph_.links()[link].to == gpu) entering += load.link_kBps[link].approximate();
      return entering > 1 + kTiny;
    });
  }

  static bool improve(std::vector<std::vector<double>>& rows) {
    const size_t last = rows.size() - 1;
    const auto entering =
        std::find_if(rows[last].begin(), rows[last].end() - 1, [](double cost) { return cost < -kTiny; });
    if (entering == rows[last].end() - 1) return false;
    const auto column = static_cast<size_t>(entering - rows[last].begin());
    size_t leaving = last;
    for (size_t row = 0; row != last; ++row) {
      if (rows[row][column] <= kTiny) continue;
      if (leaving == last ||
          rows[row].back() / rows[row][column] < rows[leaving].back() / rows[leaving][column] - kTiny)
        leaving = row;
    }
    const double pivot = rows[leaving][column];
    for (double& value : rows[leaving]) value /= pivot;
    for (size_t row = 0; row != rows.size(); ++row) {
      const double factor = rows[row][column];
      for (size_t i = 0; row != leaving && i != rows[row].size(); ++i)
        rows[row][i] -= factor * rows[leaving][i];
    }
    return true;
  }

  const TopologyGraph& graph_;
  std::vector<std::vector<Rational>> loads_;
};

}  // namespace

TEST_CASE("in graphs of up to 5 GPUs no rings are faster") {
  RandomGraphs random(test_seed(6));
  int searched = 0;
  for (int i = 0; i != (kSanitized ? 60 : 600); ++i) {
    const int gpus = random.between(2, 5), switches = random.between(0, 3);
    const TopologyGraph graph =
        random.chance(50) ? random.symmetric(gpus, switches) : random.faulty(gpus, switches);
    CAPTURE(i);
    AllRings all(graph);
    if (!all.are_there()) continue;
    ++searched;
    const RingPlan plan = rings_of(graph);
    CHECK(plan.is_optimal);
    CHECK(is_about(plan.bus_kBps, all.fastest(), plan.channels.size()));
    CHECK(plan == rings_of(graph));
  }
  CHECK(searched > 10);
}

TEST_CASE("the search for rings ends on random graphs of up to 32 GPUs, and its rings verify") {
  RandomGraphs random(test_seed(7));
  int found = 0;
  for (int i = 0; i != (kSanitized ? 20 : 200); ++i) {
    const int gpus = random.chance(80) ? random.between(1, 8) : random.between(9, 32);
    const TopologyGraph graph = random.faulty(gpus, random.between(0, gpus));
    CAPTURE(i, gpus);
    const RingOptions options{.max_steps = 20'000, .max_time = std::chrono::minutes(5)};
    const auto plan = find_rings(graph, graph.gpus(), options);
    if (!plan.ok()) {
      CHECK(plan.status().code() == (gpus == 1 ? Code::InvalidArgument : Code::Unsupported));
      continue;
    }
    ++found;
    CHECK(plan.value() == rings_of(graph, graph.gpus(), options));
  }
  CHECK(found > 10);
}
