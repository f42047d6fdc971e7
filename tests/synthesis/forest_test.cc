// SPDX-License-Identifier: Apache-2.0
// Schedules of forests and rings: of every machine that is known or recorded, for every collective that has
// them.
#include <chrono>
#include <set>

#include "catch.h"
#include "concrete_run.h"
#include "counted_memory.h"
#include "graph/known_machines.h"
#include "limit/bound.h"
#include "nccl_host.h"
#include "random_graphs.h"
#include "sanitized.h"
#include "schedule/spread.h"
#include "schedule/verifier.h"
#include "search/find_forest.h"
#include "search/find_rings.h"
#include "seed.h"
#include "shapes.h"
#include "synthesis/forest_algorithm.h"
#include "synthesis/rings_algorithm.h"
#include "synthesis/schedule_cost.h"
#include "transports/transport.h"

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr CollectiveKind kForestKinds[] = {CollectiveKind::AllReduce,     CollectiveKind::Broadcast,
                                           CollectiveKind::Reduce,        CollectiveKind::AllGather,
                                           CollectiveKind::ReduceScatter, CollectiveKind::Gather,
                                           CollectiveKind::Scatter,       CollectiveKind::Barrier};

/// What a rank's connections receive in, with the slots that they have unless the user wants others.
size_t slot_memory(const Schedule& schedule) {
  std::set<std::pair<int, int>> incoming;
  for (const Lane& lane : schedule.lanes)
    for (const Step& step : lane.steps)
      if (step.has(kRecv))
        for (const int peer : schedule.peer_sets[step.recv_set])
          if (schedule.is_peer(peer)) incoming.emplace(peer, lane.port);
  return incoming.size() * ConnectionParams().slot_bytes * ConnectionParams().slots;
}

void check_shape(const Algorithm& algorithm, const Shape& shape, uint64_t seed) {
  const std::vector<Schedule> ranks = build_all(algorithm, shape);
  INFO(to_string(shape) << ", seed " << seed);
  for (const Schedule& schedule : ranks) {
    REQUIRE(schedule.lanes.size() <= kMaxPlanLanes);
    REQUIRE(slot_memory(schedule) < (size_t{64} << 20));
  }
  for (const bool in_place : {false, true}) {
    const Status status =
        verify(shape, ranks,
               {.slots = 1, .tiles = 2, .in_place = in_place, .short_chunks = static_cast<uint32_t>(seed)});
    INFO(status.message());
    REQUIRE(status.ok());
    if (shape.nranks <= 8)
      REQUIRE(runs_right(shape, ranks, {.tiles = 2, .in_place = in_place, .seed = seed}));
  }
}

TopologyGraph links_of(const std::vector<Machine>& hosts) {
  const auto built = TopologyGraph::build(hosts);
  REQUIRE(built.status().message() == "");
  return fabric_or_all(built.value(), built.value().gpus());
}

void check_kind(const Algorithm& algorithm, int n) {
  for (const Shape& shape : supported_shapes(algorithm, n))
    if (shape.levels.empty() && (shape.root == 0 || shape.root == n - 1))
      check_shape(algorithm, shape, test_seed(1));
}

std::vector<std::vector<int>> orders_of(const RingPlan& plan) {
  std::vector<std::vector<int>> orders;
  for (const RingChannel& channel : plan.channels) orders.push_back(channel.order);
  return orders;
}

void check_machine(const std::string& name, const std::vector<Machine>& hosts) {
  const TopologyGraph graph = links_of(hosts);
  const int n = static_cast<int>(graph.gpus().size());
  if (n < 2 || n > 16 || (kSanitized && n > 8)) return;
  INFO(name);
  const auto trees = find_forest(graph, graph.gpus(), {.max_time = std::chrono::hours(1)});
  REQUIRE(trees.status().message() == "");
  const auto forest = std::make_shared<const Forest>(trees.value());
  for (const CollectiveKind kind : kForestKinds) check_kind(forest_algorithm(kind, forest), n);
  const auto rings =
      find_rings(graph, graph.gpus(), {.max_steps = 100'000, .max_time = std::chrono::hours(1)});
  REQUIRE(rings.status().message() == "");
  for (const CollectiveKind kind : kAllCollectives)
    if (has_rings(kind)) check_kind(rings_algorithm(kind, orders_of(rings.value())), n);
}

}  // namespace

TEST_CASE("forests and rings of well-known machines verify with one slot, and compute what is right") {
  for (const KnownMachine& known : known_machines())
    check_machine(std::string(known.name), {known_machine(known.name).take()});
}

TEST_CASE("forests and rings of recorded machines verify with one slot, and compute what is right") {
  if (kSanitized) return;  // they take the same code as the well-known ones, and long
  for (const std::string& path : recorded_topologies()) {
    auto machine = machine_from_nccl_xml_file(path);
    if (machine.ok()) check_machine(path, {machine.take()});
  }
}

TEST_CASE("forests of random graphs verify with one slot, and compute what is right") {
  for (uint64_t i = 1; i <= (kSanitized ? 20 : 100); ++i) {
    const uint64_t seed = test_seed(i);
    RandomGraphs random(seed);
    const TopologyGraph graph = random.faulty(random.between(2, 9), random.between(0, 4));
    const auto found = find_forest(graph, graph.gpus(), {.max_flows = 20'000});
    if (!found.ok()) continue;  // the GPUs do not reach one another
    const auto forest = std::make_shared<const Forest>(found.value());
    const CollectiveKind kind = kForestKinds[i % std::size(kForestKinds)];
    const int root = has_root(kind) ? random.between(0, static_cast<int>(forest->gpus.size()) - 1) : 0;
    const Shape shape{.kind = kind, .nranks = static_cast<int>(forest->gpus.size()), .root = root};
    check_shape(forest_algorithm(kind, forest), shape, seed);
  }
}

TEST_CASE("to verify 64 lanes of 16 ranks takes less than 64 MiB") {
  const TopologyGraph graph = links_of({2, known_machine("mi250").take()});
  Forest forest = find_forest(graph, graph.gpus(), {.max_time = std::chrono::hours(1)}).take();
  const Shape shape{.kind = CollectiveKind::AllReduce, .nranks = 16};
  std::vector<Schedule> ranks =
      build_all(forest_algorithm(shape.kind, std::make_shared<const Forest>(forest)), shape);
  for (Schedule& schedule : ranks) schedule = spread(shape, {2, schedule});
  REQUIRE(ranks[0].lanes.size() == 64);
  const CountedMemory memory;
  REQUIRE(verify(shape, ranks, {.slots = 1}).ok());
  CHECK(memory.peak_bytes() < (size_t{64} << 20));
}

TEST_CASE("a plan's own cost is that of the row that has a formula for it") {
  for (const Algorithm& algorithm : algorithms())
    for (const int n : {2, 4, 8}) {
      const Shape shape{.kind = algorithm.kind, .nranks = n};
      if (!algorithm.supports(shape) || algorithm.cost_is_estimate) continue;
      const Cost formula = algorithm.cost(shape);
      const Cost counted = cost_of(shape, build_all(algorithm, shape));
      INFO(name_of(algorithm) << " of " << n << " ranks");
      CHECK(counted.rounds == Approx(formula.rounds));
      CHECK(counted.volume == Approx(formula.volume));
      if (formula.messages > 0) CHECK(counted.messages == formula.messages);
      if (formula.folds > 0) CHECK(counted.folds == Approx(formula.folds));
      if (formula.mean.volume > 0) CHECK(counted.mean.volume == Approx(formula.mean.volume));
      if (formula.steady > 0) CHECK(counted.steady == Approx(formula.steady).epsilon(0.3));
    }
}

TEST_CASE("a forest of depth 1 costs one round down, and one up") {
  const TopologyGraph graph = links_of({known_machine("hgx-h100").take()});
  const auto forest = std::make_shared<const Forest>(find_forest(graph, graph.gpus()).value());
  for (const auto& [kind, rounds] : {std::pair{CollectiveKind::AllGather, 1.0},
                                     {CollectiveKind::ReduceScatter, 1.0},
                                     {CollectiveKind::AllReduce, 2.0}}) {
    const Cost cost = forest_algorithm(kind, forest).cost({.kind = kind, .nranks = 8});
    CHECK(cost.rounds == rounds);
    CHECK(cost.volume == Approx(rounds * 7 / 8));
    CHECK(cost.mean.volume == Approx(rounds * 7 / 8));
  }
}
