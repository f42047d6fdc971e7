// SPDX-License-Identifier: Apache-2.0
// Schedules on the links of machines: which links messages cross, and how near plans come to what the links
// allow.
#include <chrono>
#include <memory>
#include <string>

#include "algorithms/algorithm.h"
#include "catch.h"
#include "graph/known_machines.h"
#include "limit/bound.h"
#include "search/find_forest.h"
#include "search/message_links.h"
#include "shapes.h"
#include "synthesis/forest_algorithm.h"
#include "synthesis/machine_network.h"

using namespace rondo;

namespace {

TopologyGraph links_of(const char* name, size_t hosts = 1) {
  const auto built = TopologyGraph::build(std::vector<Machine>(hosts, known_machine(name).take()));
  REQUIRE(built.status().message() == "");
  return fabric_or_all(built.value(), built.value().gpus());
}

/// "gpu0 -> gpu1 -> gpu5"; several links of a hop are one arrow.
std::string way(const TopologyGraph& graph, const std::vector<Hop>& hops) {
  std::string text = graph.node(graph.link(hops[0][0].link).from).name;
  for (const Hop& hop : hops) text += " -> " + graph.node(graph.link(hop[0].link).to).name;
  return text;
}

std::string way(const TopologyGraph& graph, int from, int to) {
  const auto hops = MessageLinks(graph, graph.gpus()).between(from, to);
  REQUIRE(hops.status().message() == "");
  return way(graph, hops.value());
}

}  // namespace

TEST_CASE("messages take the best path, through a GPU if no link leads there, between hosts by near NICs") {
  const TopologyGraph dgx = links_of("dgx-1v");
  CHECK(way(dgx, 0, 3) == "gpu0 -> gpu3");
  CHECK(way(dgx, 0, 5).starts_with("gpu0 -> gpu"));
  CHECK(way(dgx, 0, 5).ends_with(" -> gpu5"));
  CHECK(way(links_of("hgx-h100"), 0, 5) == "gpu0 -> nvswitch -> gpu5");
  const TopologyGraph hosts = links_of("hgx-h100", 2);
  CHECK(way(hosts, 1, 10) ==
        "host0/gpu1 -> host0/switch 0000:10:00.0 -> host0/nic mlx5_1 -> network -> host1/nic mlx5_2 -> "
        "host1/switch 0000:20:00.0 -> host1/gpu2");
}

TEST_CASE("two GPUs that nothing joins have no path, by name") {
  const std::vector<TopologyNode> nodes = {{.name = "gpu0"}, {.name = "gpu1"}};
  const TopologyGraph graph(nodes, {{.from = 0, .to = 1, .kBps = 1}});
  const auto back = MessageLinks(graph, graph.gpus()).between(1, 0);
  REQUIRE_FALSE(back.ok());
  CHECK(back.status().code() == Code::Unsupported);
  CHECK(back.status().message() == "there is no path from gpu1 to gpu0");
}

TEST_CASE("the busiest link of a forest carries what the bound allows, and a simulation does not exceed it") {
  for (const KnownMachine& known : known_machines()) {
    const TopologyGraph graph = links_of(known.name.data());
    const auto n = static_cast<int>(graph.gpus().size());
    auto found = find_forest(graph, graph.gpus(), {.max_time = std::chrono::hours(1)});
    REQUIRE(found.ok());
    const auto forest = std::make_shared<const Forest>(found.take());
    for (const CollectiveKind kind :
         {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllReduce}) {
      const Shape shape{.kind = kind, .nranks = n};
      const auto ranks = build_all(forest_algorithm(kind, forest), shape);
      const auto on_links = MachineNetwork::of(graph, graph.gpus(), ranks, forest.get());
      REQUIRE(on_links.status().message() == "");
      const SimulatedNetwork network = on_links.value().network(0, 4);
      constexpr double kBytes = 1e9;
      const auto time = simulate(shape, ranks, kBytes, 50, network);
      REQUIRE(time.status().message() == "");
      const std::vector<double> loads = loads_of(ranks, network);
      double busiest_s = 0;
      for (size_t i = 0; i != loads.size(); ++i)
        busiest_s = std::max(busiest_s, loads[i] * kBytes / network.links[i]);
      const double bound = bandwidth_bound(graph, graph.gpus(), kind).value().bus.approximate() * 1e3;
      const double bus = bus_factor(kind, n) * kBytes;
      INFO(known.name << ", " << collective_name(kind));
      CHECK(bus / busiest_s == Approx(bound).epsilon(0.001));
      CHECK(bus / time.value() <= bound * (1 + 1e-6));
      // Trees of unequal weight share lanes, and connections share links equally, whatever they carry.
      CHECK(bus / time.value() >= bound * 0.6);
    }
  }
}

TEST_CASE("GPUs that share a NIC carry less, so that a call over hosts takes as long as its NICs need") {
  // GPUs 0 and 1 of a DGX-1V have a NIC of 12.5 GB/s together, GPU 2 has one for itself.
  const TopologyGraph all = links_of("dgx-1v", 2);
  const std::vector<int> gpus = {all.gpus()[0], all.gpus()[1], all.gpus()[2],
                                 all.gpus()[8], all.gpus()[9], all.gpus()[10]};
  struct Seconds {
    double simulated = 0;
    double of_nics = 0;  // until the busiest one has sent its bytes
  };
  constexpr double kBytes = 1e9, kNic = kBytes / 12.5e9;
  const auto seconds = [&](CollectiveKind kind, std::span<const int> weights) {
    Shape shape{.kind = kind, .nranks = 6, .levels = 3};
    shape.weights = weights;
    const char* const name = traits(kind).has_blocks() ? "hierarchical_ring" : "hierarchical";
    const auto ranks = build_all(*algorithm_by_name(kind, name).value(), shape);
    const auto on_links = MachineNetwork::of(all, gpus, ranks);
    REQUIRE(on_links.status().message() == "");
    const SimulatedNetwork network = on_links.value().network(0, 4);
    const auto time = simulate(shape, ranks, kBytes, 200, network);
    REQUIRE(time.status().message() == "");
    Seconds found{.simulated = time.value()};
    const std::vector<double> loads = loads_of(ranks, network);
    for (size_t i = 0; i != loads.size(); ++i)
      if (all.node(all.link(static_cast<int>(i)).to).name == "network")
        found.of_nics = std::max(found.of_nics, loads[i] * kBytes / network.links[i]);
    return found;
  };
  const std::vector<int> weights = {1, 1, 2};
  for (const CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::Broadcast, CollectiveKind::Reduce,
        CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    INFO(collective_name(kind));
    const Seconds equal = seconds(kind, {}), weighted = seconds(kind, weights);
    const double crosses = traits(kind).has_blocks() ? 0.5 : 1;  // in either direction, of a vector
    CHECK(equal.of_nics == Approx(crosses * 2 * kNic / 3));
    CHECK(weighted.of_nics == Approx(crosses * kNic / 2));
    CHECK(equal.simulated == Approx(equal.of_nics).epsilon(0.08));
    // In a reduce_scatter GPU 2 receives half of all blocks by one NVLink from either of the others.
    if (kind == CollectiveKind::ReduceScatter) continue;
    CHECK(weighted.simulated == Approx(weighted.of_nics).epsilon(0.1));
  }
}

TEST_CASE("on ports, what ranks send comes before what they receive") {
  const Shape shape{.kind = CollectiveKind::Broadcast, .nranks = 3, .root = 1};
  const auto ranks = build_all(*algorithm_by_name(shape.kind, "flat").value(), shape);
  CHECK(loads_of(ranks, {}) == std::vector<double>{0, 2, 0, 1, 0, 1});
}
