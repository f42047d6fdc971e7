// SPDX-License-Identifier: Apache-2.0
// Stars: no links carry more than they can, some are full, no other shares are faster; which machines have
// them.
#include "search/stars.h"

#include <algorithm>
#include <random>

#include "catch.h"
#include "graph/known_machines.h"
#include "limit/bound.h"
#include "limit_machines.h"
#include "nccl_host.h"
#include "seed.h"

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr int64_t kGBps = 1'000'000;

/// GPUs joined to every switch, by links of these speeds each way: by switch and GPU.
TopologyGraph switched(const std::vector<std::vector<int64_t>>& kBps, bool combines = true) {
  std::vector<TopologyNode> nodes;
  std::vector<TopologyLink> links;
  const int gpus = static_cast<int>(kBps[0].size());
  for (int dev = 0; dev != gpus; ++dev) nodes.push_back(gpu_node(dev));
  for (size_t i = 0; i != kBps.size(); ++i) {
    TopologyNode node = other_node(NodeKind::NvSwitch, fmt::format("nvswitch {}", i));
    node.combines = combines;
    nodes.push_back(node);
    for (int dev = 0; dev != gpus; ++dev)
      if (const int64_t speed = kBps[i][static_cast<size_t>(dev)]; speed > 0) {
        links.push_back({dev, gpus + static_cast<int>(i), LinkClass::NvLink, 1, speed});
        links.push_back({gpus + static_cast<int>(i), dev, LinkClass::NvLink, 1, speed});
      }
  }
  return {nodes, links};
}

StarPlan stars_of(const TopologyGraph& graph) {
  const auto plan = find_stars(graph, graph.gpus());
  REQUIRE(plan.status().message() == "");
  return plan.value();
}

/// How many vectors a second, times the vector, fit the links: each switch passes its part of the vector of
/// every GPU, in proportion to the narrowest link to it, and the part of each head once more.
double fitting(const std::vector<std::vector<int64_t>>& kBps, const std::vector<double>& shares) {
  double whole = 0, narrowest = 0, fits = 1e300;
  for (const double share : shares) whole += share;
  for (const auto& speeds : kBps) narrowest += static_cast<double>(std::ranges::min(speeds));
  for (const auto& speeds : kBps)
    for (size_t gpu = 0; gpu != speeds.size(); ++gpu) {
      const double part = static_cast<double>(std::ranges::min(speeds)) / narrowest;
      const double load = part * (1 + shares[gpu] / whole);
      if (part > 0) fits = std::min(fits, static_cast<double>(speeds[gpu]) / load);
    }
  return fits;
}

double bus_of(double vectors, size_t gpus) {
  return vectors * 2 * static_cast<double>(gpus - 1) / static_cast<double>(gpus);
}

std::string refusal(const TopologyGraph& graph) { return find_stars(graph, graph.gpus()).status().message(); }

}  // namespace

TEST_CASE("equal GPUs are heads of equal shares: 2 (n - 1) / (n + 1) of the bandwidth of their links") {
  for (const int64_t n : {2, 3, 8, 16}) {
    const TopologyGraph graph = switched({std::vector<int64_t>(static_cast<size_t>(n), 450 * kGBps)});
    const StarPlan plan = stars_of(graph);
    CHECK(plan.bus_kBps == *Rational::of(450 * kGBps * 2 * (n - 1), n + 1));
    CHECK(std::ssize(plan.stars) == n);
    for (const Star& star : plan.stars) CHECK(star.share == plan.stars[0].share);
    CHECK(plan.bus_kBps <= in_network_bound(graph, graph.gpus(), CollectiveKind::AllReduce).value().bus);
  }
}

TEST_CASE("a GPU with fewer links is no head, and the limit of all; several switches are used at once") {
  const StarPlan slow = stars_of(switched({{100, 100, 100, 50}}));
  CHECK(slow.bus_kBps == *Rational::of(50 * 2 * 3, 4));
  CHECK(slow.stars == std::vector<Star>{{0, 250}, {1, 250}, {2, 250}});
  CHECK(slow.narrowest == 3);
  CHECK(stars_of(switched({{60, 60, 60}, {30, 30, 30}})).bus_kBps ==
        stars_of(switched({{90, 90, 90}})).bus_kBps);
  // A switch that a GPU is not joined to passes nothing of it.
  CHECK(stars_of(switched({{60, 60, 60}, {30, 30, 0}})).bus_kBps ==
        stars_of(switched({{60, 60, 60}})).bus_kBps);
}

TEST_CASE("stars of random machines fit their links, and no other shares are faster") {
  std::mt19937_64 random(test_seed(1801));
  for (int round = 0; round != 300; ++round) {
    const size_t gpus = 2 + random() % 7, switches = 1 + random() % 4;
    std::vector<std::vector<int64_t>> kBps(switches, std::vector<int64_t>(gpus));
    for (auto& speeds : kBps)
      for (int64_t& speed : speeds)
        speed = static_cast<int64_t>(random() % 4 == 0 ? 1 + random() % 400 : 400) * kGBps;
    CAPTURE(kBps);
    const StarPlan plan = stars_of(switched(kBps));
    std::vector<double> shares(gpus);
    for (const Star& star : plan.stars)
      shares[static_cast<size_t>(star.head)] = static_cast<double>(star.share);
    const double found = plan.bus_kBps.approximate();
    CHECK(found == Approx(bus_of(fitting(kBps, shares), gpus)).epsilon(1e-6));
    for (int other = 0; other != 50; ++other) {
      // Random shares, and those found with a part moved from one head to another.
      std::vector<double> others = shares;
      if (other % 2 == 0)
        for (double& share : others) share = static_cast<double>(random() % 100);
      else
        std::swap(others[random() % gpus], others[random() % gpus]);
      others[random() % gpus] += 1;
      CHECK(bus_of(fitting(kBps, others), gpus) <= found * (1 + 1e-6));
    }
  }
}

TEST_CASE("machines whose NVSwitches combine have stars; others are refused with the reason") {
  const std::string kNone = "no NVSwitch that combines data joins all GPUs";
  for (const KnownMachine& machine : known_machines()) {
    CAPTURE(machine.name);
    const TopologyGraph one = graph_of(known_machine(machine.name).take());
    if (machine.name == "hgx-h100" || machine.name == "hgx-h200" || machine.name == "hgx-b200")
      CHECK(stars_of(one).stars.size() == 8);
    else
      CHECK(refusal(one) == kNone);
    const auto two = TopologyGraph::build(std::vector<Machine>(2, known_machine(machine.name).take()));
    CHECK(refusal(two.value()) == kNone);
  }
  CHECK(refusal(switched({{1, 1}}, false)) == kNone);
  CHECK(refusal(switched({{1}})) == "1 GPUs: expected two at least");
  const TopologyGraph graph = switched({{1, 1}});
  CHECK(star_plan(graph, graph.gpus(), {}).status().message() == "no stars");
}
