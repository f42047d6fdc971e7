// SPDX-License-Identifier: Apache-2.0
// Rings of graphs made by hand, what their evaluation refuses, channels of equal speed, and double trees.
#include <bit>
#include <chrono>
#include <numeric>
#include <set>

#include "catch.h"
#include "counted_memory.h"
#include "graph/known_machines.h"
#include "limit_machines.h"
#include "packing_simplex.h"
#include "ring_checks.h"
#include "sanitized.h"
#include "search/double_tree.h"
#include "search/equal_channels.h"
#include "search/find_forest.h"

using namespace rondo;
using namespace rondo::test;

namespace {

TopologyGraph known(std::string_view name, size_t hosts = 1) {
  auto machine = known_machine(name);
  REQUIRE(machine.ok());
  auto graph = TopologyGraph::build(std::vector<Machine>(hosts, machine.value()));
  REQUIRE(graph.status().message() == "");
  return fabric_or_all(graph.value(), graph.value().gpus());
}

/// GPUs in a row, each joined to the next.
TopologyGraph in_a_row(int gpus, LinkClass cls) {
  std::vector<TopologyNode> nodes;
  std::vector<TopologyLink> links;
  for (int dev = 0; dev != gpus; ++dev) {
    nodes.push_back(gpu_node(dev));
    if (dev == 0) continue;
    links.push_back({dev - 1, dev, cls, 1, 1'000'000});
    links.push_back({dev, dev - 1, cls, 1, 1'000'000});
  }
  return {nodes, links};
}

/// Joins each to each by links of 10 GB/s.
TopologyGraph all_to_all(int gpus) {
  std::vector<TopologyNode> nodes;
  std::vector<TopologyLink> links;
  for (int dev = 0; dev != gpus; ++dev) nodes.push_back(gpu_node(dev));
  for (int from = 0; from != gpus; ++from)
    for (int to = 0; to != gpus; ++to)
      if (from != to) links.push_back({from, to, LinkClass::Xgmi, 1, 10'000'000});
  return {nodes, links};
}

std::string refusal(const TopologyGraph& graph, const RingChannel& channel) {
  return ring_load(graph, graph.gpus(), {&channel, 1}).status().message();
}

std::vector<int> in_order(int n) {
  std::vector<int> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// The height of a tree; 0 if it is not one.
int height(const std::vector<int>& parents) {
  int highest = 0;
  for (size_t rank = 0; rank != parents.size(); ++rank) {
    size_t steps = 1;
    for (int at = static_cast<int>(rank); parents[static_cast<size_t>(at)] >= 0; ++steps) {
      if (steps > parents.size()) return 0;
      at = parents[static_cast<size_t>(at)];
    }
    highest = std::max(highest, static_cast<int>(steps));
  }
  return std::ranges::count(parents, -1) == 1 ? highest : 0;
}

}  // namespace

TEST_CASE("two channels, one each way, of a pair of GPUs are one ring") {
  const RingPlan plan = rings_of(all_to_all(2));
  CHECK(plan.channels == std::vector<RingChannel>{{{0, 1}, {}, 10'000'000}});
  CHECK(plan.is_optimal);
}

TEST_CASE("GPUs joined each to each fill all links, though no rings of whole links do for 4 and 6") {
  for (int gpus = 3; gpus <= 8; ++gpus) {
    CAPTURE(gpus);
    const RingPlan plan = rings_of(all_to_all(gpus));
    CHECK(plan.is_optimal);
    CHECK(is_about(plan.bus_kBps, 1e7 * (gpus - 1), plan.channels.size()));
    const bool whole = gpus != 4 && gpus != 6;
    CHECK((plan.channels.size() == static_cast<size_t>(gpus) - 1) == whole);
  }
}

TEST_CASE("rings lead through a GPU in between only if there are no others") {
  const RingPlan plan = rings_of(in_a_row(3, LinkClass::NvLink));
  CHECK(plan.channels == std::vector<RingChannel>{{{0, 1, 2}, {}, 1'000'000}});
  CHECK(find_rings(in_a_row(3, LinkClass::Pcie), std::vector{0, 1, 2}).status().code() == Code::Unsupported);
}

TEST_CASE("a search without time or steps left returns what it has, or says that it has nothing") {
  const TopologyGraph graph = all_to_all(8);
  CHECK(find_rings(graph, graph.gpus(), {.max_steps = 0}).status().code() == Code::Unsupported);
  const auto some = find_rings(graph, graph.gpus(), {.max_steps = 30});
  REQUIRE(some.ok());
  CHECK(some.value() == rings_of(graph, graph.gpus(), {.max_steps = 30}));
}

TEST_CASE("rings that are not proved to be the fastest are not called optimal") {
  const TopologyGraph equal = all_to_all(20);
  std::vector<TopologyLink> links(equal.links().begin(), equal.links().end());
  for (TopologyLink& link : links) link.kBps += (link.from * 7 + link.to * 3) % 5 * 1'000'000;
  const TopologyGraph unequal{{equal.nodes().begin(), equal.nodes().end()}, links};
  const RingPlan plan = rings_of(unequal, unequal.gpus(), {.max_steps = 2'000'000});
  CHECK(plan.bus_kBps < plan.bound_kBps);
  CHECK_FALSE(plan.is_optimal);
}

TEST_CASE("rings over thousands of links are found in little memory") {
  const TopologyGraph equal = all_to_all(kSanitized ? 24 : 64);
  std::vector<TopologyLink> links(equal.links().begin(), equal.links().end());
  for (TopologyLink& link : links) link.kBps *= link.from * link.to % 7 + 1;
  const TopologyGraph graph({equal.nodes().begin(), equal.nodes().end()}, std::move(links));
  const CountedMemory memory;
  const RingPlan plan = rings_of(graph);
  CHECK(memory.peak_bytes() < size_t{64} << 20);
  CHECK(plan.bus_kBps > 0);
  const TopologyGraph more = all_to_all(64);
  std::vector<TopologyNode> nodes(more.nodes().begin(), more.nodes().end());
  for (int i = 0; i != 2000; ++i) nodes.push_back(other_node(NodeKind::Nic, fmt::format("nic {}", i)));
  const TopologyGraph many_nics(std::move(nodes), {more.links().begin(), more.links().end()});
  CHECK(find_rings(many_nics, many_nics.gpus()).status().message() ==
        "rings are searched for among up to 90000 paths from GPUs; 64 GPUs have 132096");
}

TEST_CASE("hosts of which each has thousands of NICs have rings at once, or too many ways out") {
  const auto hosts_with = [](int gpus, int nics) {
    std::vector<TopologyNode> nodes{other_node(NodeKind::Network, "network")};
    std::vector<TopologyLink> links;
    const auto join = [&](int a, int b, LinkClass cls, int64_t kBps) {
      links.push_back({a, b, cls, 1, kBps});
      links.push_back({b, a, cls, 1, kBps});
    };
    for (int host = 0; host != 2; ++host) {
      const auto numa = static_cast<int>(nodes.size());
      nodes.push_back(other_node(NodeKind::Numa, fmt::format("numa{}", host), host));
      for (int i = 0; i != gpus + nics; ++i) {
        const auto device = static_cast<int>(nodes.size());
        nodes.push_back(i < gpus ? gpu_node(i, host)
                                 : other_node(NodeKind::Nic, fmt::format("nic{}", i), host));
        join(device, numa, LinkClass::Pcie, 24'000'000);
        if (i >= gpus) join(device, 0, LinkClass::Network, 25'000'000);
      }
    }
    return TopologyGraph(std::move(nodes), std::move(links));
  };
  const TopologyGraph graph = hosts_with(8, 2000);
  const auto start = std::chrono::steady_clock::now();
  CHECK(rings_of(graph).bus_kBps == 24'000'000);
  CHECK(std::chrono::steady_clock::now() - start <
        std::chrono::seconds(kSanitized ? 30 : 5));  // also under sanitizers
  const TopologyGraph more = hosts_with(8, 4001);
  CHECK(find_rings(more, more.gpus()).status().message() ==
        "rings between hosts are searched for among up to 32000 paths from GPUs to NICs; 8 GPUs and 4001 "
        "NICs have 32008");
  // The plan would spread each tree over all NICs.
  const CountedMemory memory;
  const auto plan = find_forest(more, more.gpus());
  REQUIRE(plan.ok());
  CHECK(plan.value().stopped);
  CHECK(memory.peak_bytes() < size_t{64} << 20);
}

TEST_CASE("rings need two GPUs that reach one another") {
  const TopologyGraph graph = all_to_all(3);
  CHECK(find_rings(graph, std::vector{0}).status().code() == Code::InvalidArgument);
  CHECK(find_rings(graph, std::vector{0, 0}).status().code() == Code::InvalidArgument);
  CHECK(find_rings({{gpu_node(0), gpu_node(1)}, {{0, 1, LinkClass::NvLink, 1, 1}}}, std::vector{0, 1})
            .status()
            .code() == Code::Unsupported);
}

TEST_CASE("what is no ring is refused with a sentence") {
  const TopologyGraph graph = known("hgx-h100", 2);
  RingChannel good = rings_of(graph).channels[0];
  CHECK(refusal(graph, good).empty());
  const auto with = [&](auto change) {
    RingChannel bad = good;
    change(bad);
    return refusal(graph, bad);
  };
  CHECK(with([](RingChannel& bad) { bad.kBps = 0; }) == "channel 0: it carries 0 kB/s");
  CHECK(with([](RingChannel& bad) { bad.order[0] = 16; }) == "channel 0: rank 16 is none of the 16");
  CHECK(with([](RingChannel& bad) { bad.order[0] = bad.order[1]; }).ends_with("is in it twice"));
  CHECK(with([](RingChannel& bad) { bad.order.pop_back(); }) == "channel 0: it has 15 GPUs: expected all 16");
  CHECK(with([](RingChannel& bad) { bad.nics.pop_back(); }).find("no pair of NICs for") != std::string::npos);
  CHECK(with([](RingChannel& bad) { bad.nics.emplace_back(); }).find("are too many") != std::string::npos);
  CHECK(with([](RingChannel& bad) {
          bad.nics[0].leaves = bad.nics[0].enters;
        }).find("is not a NIC of the host of host0/") != std::string::npos);
  CHECK(refusal(all_to_all(1), {{0}, {}, 1}) == "a ring needs two GPUs or more, not 1");
  CHECK(refusal({{gpu_node(0), gpu_node(1)}, {{0, 1, LinkClass::NvLink, 1, 1}}}, {{0, 1}, {}, 1}) ==
        "channel 0: there is no path from gpu1 to gpu0");
}

TEST_CASE("the busiest links say how far rings can be sped up") {
  const TopologyGraph graph = all_to_all(3);
  const RingChannel slow{{0, 2, 1}, {}, 4'000'000};
  const RingLoad load = load_of(graph, graph.gpus(), {&slow, 1});
  CHECK(load.scale == Rational::of(2, 5));
  CHECK(load.bus_kBps == 10'000'000);
  CHECK(load.busiest.size() == 3);
}

TEST_CASE("chains leave the last hop out, and may use links both ways") {
  const TopologyGraph graph = in_a_row(3, LinkClass::Pcie);
  const RingChannel chain{{0, 1, 2}, {}, 1'000'000};
  const auto load = [&](OrderUse use) { return ring_load(graph, graph.gpus(), {&chain, 1}, use); };
  CHECK_FALSE(load(OrderUse::Ring).ok());
  CHECK(load(OrderUse::Chain).value().busiest == std::vector{0, 2});
  CHECK(load(OrderUse::ChainBothWays).value().busiest == std::vector{0, 1, 2, 3});
  CHECK(load(OrderUse::Chain).value().bus_kBps == 1'000'000);
  CHECK(load(OrderUse::ChainBothWays).value().bus_kBps == Rational::of(4'000'000, 3));

  const TopologyGraph hosts = known("hgx-h100", 2);
  RingChannel channel = rings_of(hosts).channels[0];
  CHECK_FALSE(ring_load(hosts, hosts.gpus(), {&channel, 1}, OrderUse::ChainBothWays).ok());
  channel.nics.pop_back();
  CHECK(ring_load(hosts, hosts.gpus(), {&channel, 1}, OrderUse::ChainBothWays).status().message() == "");
}

TEST_CASE("channels of equal speed carry as much as the whole where speeds divide") {
  const TopologyGraph graph = known("dgx-1v");
  const RingPlan plan = rings_of(graph);
  const std::vector<RingChannel> equal = equal_channels(plan.channels, 32, usual_channel_kBps(graph));
  CHECK(equal.size() == 6);
  for (const RingChannel& channel : equal) CHECK(channel.kBps == 20'000'000);
  CHECK(load_of(graph, graph.gpus(), equal).scale == 1);

  const std::vector<RingChannel> uneven = {{{0, 1}, {}, 10}, {{1, 0}, {}, 7}};
  const std::vector<RingChannel> some = equal_channels(uneven, 5, 100);
  REQUIRE(some.size() == 3);  // 15 of 17, as five channels of 3 would
  CHECK(some[0].kBps == 5);
  CHECK(equal_channels(uneven, 1, 100).size() == 1);
  CHECK(equal_channels({}, 4, 100).empty());
}

TEST_CASE("a usual channel is as fast as one NVLink, and on PCIe as any link") {
  CHECK(usual_channel_kBps(known("hgx-h100")) == 20'600'000);
  CHECK(usual_channel_kBps(known("mi300x")) == 48'000'000);
  CHECK(usual_channel_kBps(known("pcie-8gpu")) == 24'000'000);
}

TEST_CASE("in a double tree each rank has children in at most one tree, at most two, and few levels") {
  for (int n = 1; n <= 300; ++n) {
    CAPTURE(n);
    const DoubleTree trees = double_tree(in_order(n));
    std::set<int> has_children;
    for (const std::vector<int>& parents : trees.parents) {
      CHECK(height(parents) >= 1);
      CHECK(height(parents) <= static_cast<int>(std::bit_width(static_cast<unsigned>(n))));
      std::set<int> of_tree(parents.begin(), parents.end());
      for (const int parent : of_tree) {
        CHECK((parent < 0 || std::ranges::count(parents, parent) <= 2));
        if (parent >= 0) CHECK(has_children.insert(parent).second);
      }
    }
  }
  CHECK(double_tree(std::vector{0, 3, 2, 1}).parents ==
        std::array<std::vector<int>, 2>{{{3, -1, 3, 1}, {-1, 2, 0, 2}}});
}

TEST_CASE("the linear program packs fractions, and says when a number does not fit") {
  PackingSimplex simplex({1, 1, 1});
  REQUIRE(simplex.add({1, 1, 0}, 0));
  REQUIRE(simplex.add({0, 1, 1}, 1));
  REQUIRE(simplex.add({1, 0, 1}, 2));
  CHECK(simplex.unit() == 2);
  CHECK(simplex.price(0) == 1);     // each column costs a whole unit: the optimum, 3/2
  CHECK(simplex.values().empty());  // halves, rounded down

  PackingSimplex large({PackingSimplex::kMax, 1});
  REQUIRE(large.add({1, 1}, 0));
  CHECK_FALSE(large.add({PackingSimplex::kMax, 0}, 1));
  CHECK(large.values().size() == 1);  // as it was
}
