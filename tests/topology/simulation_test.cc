// SPDX-License-Identifier: Apache-2.0
// Plans, simulated on the links of their machines: long vectors take as long as the busiest link needs.
#include <cmath>

#include "catch.h"
#include "graph/known_machines.h"
#include "limit/bound.h"
#include "nccl_host.h"
#include "sanitized.h"
#include "schedule/simulator.h"
#include "search/find_forest.h"
#include "synthesis/machine_network.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// The unit of weight of a tree that a lane, and the part that it carries, belongs to.
struct TreeUnit {
  const Tree* tree;
  int64_t unit;
};
std::vector<TreeUnit> units_of(const Forest& forest) {
  std::vector<TreeUnit> units;
  for (const Tree& tree : forest.trees)
    for (int64_t unit = 0; unit < tree.weight; ++unit) units.push_back({&tree, unit});
  return units;
}

/// An all-gather by the forest, with a lane for each unit of weight: connections that share a link equally
/// then divide it as the trees do. Blocks are parts of one vector here: rank r's are [r k, (r + 1) k).
std::vector<Schedule> schedules_of(const Forest& forest, const std::vector<TreeUnit>& units) {
  const auto n = static_cast<int>(forest.gpus.size());
  std::vector<Schedule> ranks;
  for (int rank = 0; rank < n; ++rank) {
    Schedule& schedule =
        ranks.emplace_back(Shape{CollectiveKind::AllReduce, n}, rank, n * static_cast<int>(forest.k));
    for (int lane = 0; lane < static_cast<int>(units.size()); ++lane) {
      Move move;
      for (const TreeEdge& edge : units[static_cast<size_t>(lane)].tree->edges) {
        if (edge.parent == rank) move.send.push_back(edge.child);
        if (edge.child == rank) move.recv = {edge.parent};
      }
      if (move.recv.empty()) move.src = input(lane);
      if (!move.recv.empty()) move.dst = output(lane);
      schedule.add(lane, move);
    }
  }
  return ranks;
}

/// The links of the unit's edge, with their shares of its bytes.
std::vector<SimulatedLinkUse> uses_of_unit(const TreeUnit& of, int from, int to) {
  for (const TreeEdge& edge : of.tree->edges) {
    if (edge.parent != from || edge.child != to) continue;
    auto route = edge.routes.begin();
    for (int64_t before = of.unit; before >= route->weight; ++route) before -= route->weight;
    return uses_of(route->hops);
  }
  return {};
}

/// Compares the simulated bandwidth with the forest's.
void check_simulated(const std::string& name, const TopologyGraph& graph) {
  const auto found = find_forest(graph, graph.gpus(), {.max_time = std::chrono::hours(1)});
  REQUIRE(found.status().message() == "");
  const Forest& forest = found.value();
  SimulatedNetwork network{.latency_s = 0};
  for (const TopologyLink& link : graph.links())
    network.links.push_back(static_cast<double>(link.kBps) * 1e3);
  const std::vector<TreeUnit> units = units_of(forest);
  network.route = [&](int from, int to, int port) {
    return uses_of_unit(units[static_cast<size_t>(port)], from, to);
  };
  const auto n = static_cast<double>(forest.gpus.size());
  const int tiles = 50 * forest.depth();
  const double bytes = 1e9 * n;
  const auto time = simulate({CollectiveKind::AllReduce, static_cast<int>(n)}, schedules_of(forest, units),
                             bytes, tiles, network);
  REQUIRE(time.status().message() == "");
  const double simulated = bytes / n * (n - 1) / time.value();
  const double expected = forest.bus_kBps.approximate() * 1e3;
  INFO(name << ": " << simulated / 1e9 << " GB/s simulated, " << expected / 1e9 << " by its links");
  CHECK(simulated <= expected * (1 + 1e-6));
  CHECK(simulated >= expected * 0.98);
}

void check_simulated(const std::string& name, const std::vector<Machine>& hosts) {
  const auto graph = TopologyGraph::build(hosts);
  REQUIRE(graph.status().message() == "");
  const size_t gpus = graph.value().gpus().size();
  if (gpus >= 2 && !(kSanitized && gpus > 8))
    check_simulated(name, fabric_or_all(graph.value(), graph.value().gpus()));
}

}  // namespace

TEST_CASE("plans of well-known machines take the time of their busiest link") {
  for (const KnownMachine& known : known_machines())
    check_simulated(std::string(known.name), {known_machine(known.name).take()});
}

TEST_CASE("plans of two hosts take the time of their busiest link") {
  check_simulated("two hosts", {2, known_machine("hgx-a100").take()});
}

TEST_CASE("plans of recorded machines take the time of their busiest link") {
  if (kSanitized) return;  // they take the same code as the well-known ones, and long
  for (const std::string& path : recorded_topologies()) {
    auto machine = machine_from_nccl_xml_file(path);
    if (machine.ok()) check_simulated(path, {machine.take()});
  }
}
