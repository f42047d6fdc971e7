// SPDX-License-Identifier: Apache-2.0
// Forests of well-known machines and of graphs made by hand: how fast, how deep, by which links, and when the
// search has to stop.
#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "catch.h"
#include "counted_memory.h"
#include "forest_checks.h"
#include "graph/known_machines.h"
#include "limit_machines.h"
#include "sanitized.h"

using namespace rondo;
using namespace rondo::test;

namespace {

TopologyGraph built(const Machine& machine, const GraphOptions& options = {}) {
  auto graph = TopologyGraph::build(machine, options);
  REQUIRE(graph.status().message() == "");
  return graph.take();
}

Machine known(std::string_view name) {
  auto machine = known_machine(name);
  REQUIRE(machine.ok());
  return machine.take();
}

TopologyGraph fabric(const Machine& machine) {
  const TopologyGraph graph = built(machine);
  return fabric_or_all(graph, graph.gpus());
}

/// GPUs first, then switches named "switch0", ...
class Drawing {
 public:
  Drawing(int gpus, int switches) {
    for (int dev = 0; dev != gpus; ++dev) nodes_.push_back(gpu_node(dev));
    for (int i = 0; i != switches; ++i)
      nodes_.push_back(other_node(NodeKind::PciSwitch, fmt::format("switch{}", i)));
  }
  Drawing& link(int from, int to, int64_t kBps) {
    links_.push_back({from, to, LinkClass::Pcie, 1, kBps});
    return *this;
  }
  Drawing& join(int a, int b, int64_t kBps) { return link(a, b, kBps).link(b, a, kBps); }
  TopologyGraph graph() const { return {nodes_, links_}; }

 private:
  std::vector<TopologyNode> nodes_;
  std::vector<TopologyLink> links_;
};

Rational bound_of(const TopologyGraph& graph, CollectiveKind collective = CollectiveKind::AllGather) {
  const auto bound = bandwidth_bound(graph, graph.gpus(), collective);
  REQUIRE(bound.ok());
  return bound.value().bus;
}

/// FNV-1a over all numbers of a forest.
uint64_t digest(const Forest& forest) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](int64_t number) {
    for (int byte = 0; byte != 8; ++byte)
      hash = (hash ^ (static_cast<uint64_t>(number) >> (8 * byte) & 0xff)) * 0x100000001b3;
  };
  add(forest.k);
  for (const Tree& tree : forest.trees) {
    add(tree.root);
    add(tree.weight);
    for (const TreeEdge& edge : tree.edges) {
      add(edge.parent);
      add(edge.child);
      for (const GpuRoute& route : edge.routes) {
        add(route.weight);
        for (const Hop& hop : route.hops)
          for (const auto& [link, share] : hop) {
            add(link);
            add(share);
          }
      }
    }
  }
  return hash;
}

}  // namespace

TEST_CASE("below NVSwitches, and where all pairs have links, every GPU sends to all others itself") {
  for (const char* name : {"dgx-2", "hgx-a100", "hgx-h100", "hgx-h200", "hgx-b200", "mi300x"}) {
    CAPTURE(name);
    const TopologyGraph graph = fabric(known(name));
    const Forest forest = forest_of(graph);
    CHECK(forest.bus_kBps == bound_of(graph));
    CHECK(forest.k == 1);
    CHECK(forest.trees.size() == graph.gpus().size());
    CHECK(forest.depth() == 1);
  }
}

TEST_CASE("a hybrid cube mesh needs six trees a root, three levels deep") {
  const TopologyGraph graph = fabric(known("dgx-1v"));
  const Forest forest = forest_of(graph);
  CHECK(forest.bus_kBps == 120'000'000);
  CHECK(forest.k == 6);
  CHECK(forest.depth() == 3);
  // All links are full: six of 20 GB/s for 7 x 6 trees.
  CHECK(load_of(graph, forest).busiest.size() == graph.links().size());
}

TEST_CASE("the reduce-scatter of a graph is the all-gather of its links turned around") {
  // Half as much leaves gpu0 as enters it.
  const TopologyGraph graph = Drawing(3, 0)
                                  .link(0, 1, 500'000)
                                  .link(0, 2, 500'000)
                                  .link(1, 0, 1'000'000)
                                  .link(2, 0, 1'000'000)
                                  .join(1, 2, 1'000'000)
                                  .graph();
  CHECK(forest_of(graph).bus_kBps == bound_of(graph));
  CHECK(forest_of(graph.reversed()).bus_kBps == bound_of(graph, CollectiveKind::ReduceScatter));
  CHECK(forest_of(graph).bus_kBps == 1'500'000);
  CHECK(forest_of(graph.reversed()).bus_kBps == 1'000'000);
}

TEST_CASE("bytes spread over parallel links by their bandwidths") {
  const TopologyGraph graph = Drawing(2, 0).join(0, 1, 4'000'000).join(0, 1, 1'000'000).graph();
  const Forest forest = forest_of(graph);
  CHECK(forest.bus_kBps == 5'000'000);
  CHECK(forest.k == 1);
  CHECK(forest.trees[0].edges[0].routes == std::vector<GpuRoute>{{1, {{{0, 4}, {2, 1}}}}});
}

TEST_CASE("with an NVLink down the bytes of its GPU spread over what is left of each NVSwitch") {
  for (size_t lost = 0; lost != 4; ++lost) {
    CAPTURE(lost);
    Machine machine = known("hgx-h200");
    --find_gpu(machine, 3)->links[lost].count;
    const TopologyGraph graph = fabric(machine);
    const Forest forest = forest_of(graph);
    CHECK(forest.bus_kBps == 350'200'000);  // 17 NVLinks of 20.6 GB/s
    CHECK(forest.k == 1);
    CHECK(forest.depth() == 1);
  }
}

TEST_CASE("two NVSwitches that two GPUs use in opposite proportions carry what each can for itself") {
  const TopologyGraph graph = Drawing(3, 2)
                                  .join(0, 3, 10'000'000)
                                  .join(0, 4, 1'000'000)
                                  .join(1, 3, 1'000'000)
                                  .join(1, 4, 10'000'000)
                                  .join(2, 3, 6'000'000)
                                  .join(2, 4, 6'000'000)
                                  .graph();
  const Forest forest = forest_of(graph);
  CHECK(reaches(forest.bus_kBps, bound_of(graph), 950));
}

TEST_CASE("GPUs below a switch without P2P share its link to the CPU") {
  const Machine machine = known("pcie-8gpu");
  const TopologyGraph graph = built(machine, {.p2p_below_switches = false});
  const Forest forest = forest_of(graph);
  CHECK(forest.bus_kBps == bound_of(graph));
  CHECK(forest.bus_kBps < bound_of(built(machine)));
}

TEST_CASE("GPUs that do not take part forward nothing") {
  const TopologyGraph chain = Drawing(3, 0).join(0, 1, 1'000'000).join(1, 2, 1'000'000).graph();
  CHECK(forest_of(chain).bus_kBps == 1'000'000);
  const auto found = find_forest(chain, std::vector<int>{0, 2});
  CHECK(found.status().code() == Code::Unsupported);
  CHECK(found.status().message().find("gpu0") != std::string::npos);
}

TEST_CASE("ranks are in the order in which the GPUs are named") {
  const TopologyGraph graph = fabric(known("dgx-1v"));
  std::vector<int> gpus(graph.gpus().begin(), graph.gpus().end());
  std::ranges::reverse(gpus);
  const Forest forest = forest_of(graph, gpus);
  CHECK(forest.bus_kBps == 120'000'000);
  const TopologyLink& first = graph.link(forest.trees[0].edges[0].routes[0].hops[0][0].link);
  CHECK(first.from == gpus[0]);
}

TEST_CASE("GPUs that are none, named twice or alone are refused") {
  const TopologyGraph graph = fabric(known("dgx-1v"));
  for (const std::vector<int>& wrong : std::vector<std::vector<int>>{{},
                                                                     {graph.gpus()[0]},
                                                                     {-1, graph.gpus()[0]},
                                                                     {graph.gpus()[0], 1 << 20},
                                                                     {graph.gpus()[1], graph.gpus()[1]},
                                                                     {0, graph.gpus()[0]}})
    CHECK(find_forest(graph, wrong).status().code() == Code::InvalidArgument);
}

TEST_CASE("links too fast for whole numbers are refused") {
  const TopologyGraph graph = Drawing(2, 0).join(0, 1, int64_t{1} << 50).graph();
  CHECK(find_forest(graph, graph.gpus()).status().code() == Code::InvalidArgument);
}

TEST_CASE("a search that is stopped at any flow has a valid forest, and says that it was stopped") {
  Machine machine = known("dgx-1v");
  break_link(machine, 0, 3);
  for (const TopologyGraph& graph : {fabric(machine), built(known("pcie-8gpu")),
                                     built(known("pcie-8gpu"), {.p2p_below_switches = false})}) {
    const Forest unlimited = forest_of(graph, {.max_time = std::chrono::minutes(5)});
    CHECK_FALSE(unlimited.stopped);
    int64_t flows = 0;
    for (bool stopped = true; stopped; flows += 1 + flows / (kSanitized ? 10 : 50)) {
      CAPTURE(flows);
      const Forest forest = forest_of(graph, {.max_flows = flows, .max_time = std::chrono::minutes(5)});
      CHECK(forest.bus_kBps <= unlimited.bus_kBps);
      stopped = forest.stopped;
      if (!stopped) CHECK(forest == unlimited);
    }
    CHECK(flows > 20);
  }
}

TEST_CASE("a search without time returns the shortest ways at once") {
  const TopologyGraph graph = built(known("pcie-8gpu"));
  const Forest forest = forest_of(graph, {.max_time = std::chrono::seconds(0)});
  CHECK(forest.stopped);
  CHECK(forest.depth() == 1);
  CHECK(forest.bus_kBps < bound_of(graph));
}

TEST_CASE("forests are the same on every host and compiler") {
  const std::map<std::string, uint64_t> digests = {{"dgx-1v", 0xc3c4919a3acc3fe3},
                                                   {"hgx-h200", 0xb91e8967407d9a24},
                                                   {"mi250", 0xa8e87dfe65d6c638},
                                                   {"pcie-8gpu", 0x9b0d30e56910f342}};
  for (const auto& [name, expected] : digests) {
    CAPTURE(name);
    CHECK(digest(forest_of(fabric(known(name)))) == expected);
  }
}

TEST_CASE("what is not a forest of the graph is named") {
  const TopologyGraph graph = Drawing(3, 1)
                                  .join(0, 3, 1'000'000)
                                  .join(1, 3, 1'000'000)
                                  .join(2, 3, 1'000'000)
                                  .join(0, 1, 1'000'000)
                                  .graph();
  const Forest whole = forest_of(graph, {.max_flows = 0});
  REQUIRE(whole.trees[0].edges[1].routes[0].hops.size() == 2);
  const std::vector<std::pair<std::string, std::function<void(Forest&)>>> faults = {
      {"node 3 is not a GPU", [](Forest& forest) { forest.gpus[0] = 3; }},
      {"a tree of root 3", [](Forest& forest) { forest.trees[0].root = 3; }},
      {"a tree of root 0 has weight 2", [](Forest& forest) { forest.trees[0].weight = 2; }},
      {"trees of root 2 have weight 0, not 1", [](Forest& forest) { forest.trees.pop_back(); }},
      {"a tree of root 0 has 1 edges", [](Forest& forest) { forest.trees[0].edges.pop_back(); }},
      {"edge 2 -> 1 of root 0", [](Forest& forest) { forest.trees[0].edges[0].parent = 2; }},
      {"edge 0 -> 0 of root 0", [](Forest& forest) { forest.trees[0].edges[1].child = 0; }},
      {"depth 2 of edge 0 -> 1", [](Forest& forest) { forest.trees[0].edges[0].depth = 2; }},
      {"routes of 0 -> 1 have weight 0, the tree has 1",
       [](Forest& forest) { forest.trees[0].edges[0].routes.clear(); }},
      {"a route of weight 0", [](Forest& forest) { forest.trees[0].edges[0].routes[0].weight = 0; }},
      {"share 1 of link 99", [](Forest& forest) { forest.trees[0].edges[0].routes[0].hops[0][0].link = 99; }},
      {"share 0 of link", [](Forest& forest) { forest.trees[0].edges[0].routes[0].hops[0][0].share = 0; }},
      {"a route of 0 -> 2: hops do not follow one another",
       [](Forest& forest) { std::ranges::reverse(forest.trees[0].edges[1].routes[0].hops); }},
      {"a route of 0 -> 2: it ends elsewhere",
       [](Forest& forest) { forest.trees[0].edges[1].routes[0].hops.pop_back(); }},
      {"a route of 0 -> 2: it leads through a GPU",
       [](Forest& forest) {
         GpuRoute& route = forest.trees[0].edges[1].routes[0];
         route.hops = {{{6, 1}}, {{2, 1}}, {{5, 1}}};  // gpu0, gpu1, switch, gpu2
       }},
  };
  for (const auto& [what, spoil] : faults) {
    CAPTURE(what);
    Forest forest = whole;
    spoil(forest);
    const auto load = forest_load(graph, forest);
    CHECK(load.status().code() == Code::InternalError);
    CHECK(load.status().message().find(what) != std::string::npos);
  }
}

namespace {

/// GPUs below NVSwitches, each with up to `max_width` links to and from each switch; a way to a switch is
/// missing with that chance, and so is, if it is `one_way`, each way back. Every GPU has one of each.
struct BrokenSwitches {
  int gpus = 72;
  int switches = 18;
  int missing_percent = 0;
  int max_width = 1;
  bool one_way = false;
};

TopologyGraph below_nvswitches(const BrokenSwitches& shape, RandomChoices& random) {
  std::vector<TopologyNode> nodes;
  std::vector<TopologyLink> links;
  for (int dev = 0; dev != shape.gpus; ++dev) nodes.push_back(gpu_node(dev));
  for (int i = 0; i != shape.switches; ++i) {
    nodes.push_back(other_node(NodeKind::NvSwitch, "nvswitch" + std::to_string(i)));
    for (int dev = 0; dev != shape.gpus; ++dev) {
      const bool is_kept = dev % shape.switches == i && shape.missing_percent >= 20;
      const bool up = is_kept || !random.chance(shape.missing_percent);
      const bool down = is_kept || (shape.one_way ? !random.chance(shape.missing_percent) : up);
      const int width = random.between(1, shape.max_width);
      const int64_t kBps = width * int64_t{40'100'000};
      if (up) links.push_back({dev, shape.gpus + i, LinkClass::NvLink, width, kBps});
      if (down) links.push_back({shape.gpus + i, dev, LinkClass::NvLink, width, kBps});
    }
  }
  return {std::move(nodes), std::move(links)};
}

}  // namespace

TEST_CASE(
    "72 GPUs below 18 NVSwitches send straight to each other at 99.9% of the bound, links missing or not") {
  RandomChoices random(test_seed(6));
  for (const int missing_percent : {0, 1, 5, 30}) {
    if (kSanitized && missing_percent != 5) continue;
    CAPTURE(missing_percent);
    const int max_width = missing_percent == 30 ? 3 : 1;
    const TopologyGraph graph =
        below_nvswitches({.missing_percent = missing_percent, .max_width = max_width}, random);
    const Forest forest = forest_of(graph, {.max_flows = 1000, .max_time = std::chrono::minutes(5)});
    CHECK(forest.depth() == 1);
    CHECK_FALSE(forest.stopped);
    const auto bound = bandwidth_bound(graph, graph.gpus(), CollectiveKind::AllGather);
    CHECK(reaches(forest.bus_kBps, bound.value().ceiling, 999));
  }
}

TEST_CASE("GPUs without an NVSwitch in common, or with narrow ways, exchange by others at 95% of the bound") {
  RandomChoices random(test_seed(7));
  bool some_by_others = false;
  for (const int gpus : {40, 72})
    for (const int switches : {2, 9})
      for (const int missing_percent : {20, 40, 60})
        for (const bool one_way : {false, true}) {
          if (kSanitized && (gpus != 40 || one_way)) continue;
          CAPTURE(gpus, switches, missing_percent, one_way);
          const TopologyGraph graph = below_nvswitches({.gpus = gpus,
                                                        .switches = switches,
                                                        .missing_percent = missing_percent,
                                                        .max_width = 2,
                                                        .one_way = one_way},
                                                       random);
          const auto bound = bandwidth_bound(graph, graph.gpus(), CollectiveKind::AllGather);
          if (bound.value().ceiling == 0) continue;  // some do not reach others at all
          const Forest forest = forest_of(graph, {.max_flows = 0, .max_time = std::chrono::minutes(5)});
          some_by_others |= forest.depth() > 1;
          CHECK(reaches(forest.bus_kBps, bound.value().ceiling, 950));
        }
  CHECK(some_by_others);
}

TEST_CASE(
    "few GPUs with uneven links to NVSwitches get plans close to the bound, of shares that are no parts") {
  RandomChoices random(test_seed(8));
  for (const int gpus : {9, 16})
    for (int i = 0; i != 5; ++i) {
      CAPTURE(gpus, i);
      const TopologyGraph graph =
          below_nvswitches({.gpus = gpus, .switches = 8 + i, .missing_percent = i, .max_width = 3}, random);
      const Forest forest = forest_of(graph, {.max_time = std::chrono::minutes(5)});
      const auto bound = bandwidth_bound(graph, graph.gpus(), CollectiveKind::AllGather);
      CHECK(reaches(forest.bus_kBps, bound.value().ceiling, 995));
    }
}

TEST_CASE("of many GPUs below an NVSwitch each sends straight to each, and of too many there is no plan") {
  const auto switched = [](int gpus) {
    std::vector<TopologyNode> nodes;
    std::vector<TopologyLink> links;
    for (int dev = 0; dev != gpus; ++dev) {
      nodes.push_back(gpu_node(dev));
      links.push_back({dev, gpus, LinkClass::NvLink, 18, 370'800'000});
      links.push_back({gpus, dev, LinkClass::NvLink, 18, 370'800'000});
    }
    nodes.push_back(other_node(NodeKind::NvSwitch, "nvswitch"));
    return TopologyGraph(std::move(nodes), std::move(links));
  };
  const TopologyGraph many = switched(200);
  const Forest forest = forest_of(many, {.max_time = std::chrono::seconds(0)});
  CHECK(forest.depth() == 1);
  CHECK_FALSE(forest.stopped);
  CHECK(forest.bus_kBps == 370'800'000);
  const TopologyGraph too_many = switched(257);
  const auto none = find_forest(too_many, too_many.gpus());
  CHECK(none.status().code() == Code::Unsupported);
  CHECK(none.status().message() == "plans are made for up to 256 GPUs; there are 257");
}

TEST_CASE("GPUs that are many links apart get plans in little memory, or none") {
  const auto below_switches = [](int gpus, int switches) {
    std::vector<TopologyNode> nodes;
    std::vector<TopologyLink> links;
    const auto join = [&](int a, int b) {
      links.push_back({a, b, LinkClass::Pcie, 16, 12'000'000});
      links.push_back({b, a, LinkClass::Pcie, 16, 12'000'000});
    };
    const int numa = gpus * (switches + 1);
    for (int dev = 0; dev != gpus; ++dev) nodes.push_back(gpu_node(dev));
    for (int dev = 0; dev != gpus; ++dev)
      for (int i = 0, below = dev; i <= switches; ++i) {
        const int above = i == switches ? numa : static_cast<int>(nodes.size());
        join(below, above);
        if (i < switches) nodes.push_back(other_node(NodeKind::PciSwitch, fmt::format("{} {}", dev, i)));
        below = above;
      }
    nodes.push_back(other_node(NodeKind::Numa, "numa0"));
    return TopologyGraph(std::move(nodes), std::move(links));
  };
  for (const auto& [gpus, switches, is_planned] : {std::tuple(128, 10, true), std::tuple(256, 10, false)}) {
    CAPTURE(gpus);
    const TopologyGraph graph = below_switches(gpus, switches);
    const CountedMemory memory;
    const auto forest = find_forest(graph, graph.gpus());
    CHECK(memory.peak_bytes() < size_t{64} << 20);
    REQUIRE(forest.ok() == is_planned);
    if (!is_planned)
      CHECK(forest.status().message() ==
            "plans are made for paths of up to 400000 links together; between 256 GPUs they have more");
  }
}
