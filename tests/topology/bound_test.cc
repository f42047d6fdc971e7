// SPDX-License-Identifier: Apache-2.0
// The bound on graphs small enough to do in the head, and what it refuses.
#include "limit/bound.h"
#include <limits>
#include "limit/flow_network.h"

#include "catch.h"
#include "limit/usable_links.h"
#include "limit_machines.h"

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr int64_t kGBps = 1'000'000;

using Links = std::vector<TopologyLink>;

void join(Links& links, int a, int b, LinkClass cls, int count, int64_t kBps) {
  links.push_back({a, b, cls, count, kBps});
  links.push_back({b, a, cls, count, kBps});
}

/// GPUs with 18 NVLinks to an NVSwitch each, 180 GB/s.
TopologyGraph nvswitched(int gpus) {
  std::vector<TopologyNode> nodes;
  Links links;
  for (int dev = 0; dev != gpus; ++dev) nodes.push_back(gpu_node(dev));
  nodes.push_back(other_node(NodeKind::NvSwitch, "nvswitch"));
  for (int dev = 0; dev != gpus; ++dev) join(links, dev, gpus, LinkClass::NvLink, 18, 180 * kGBps);
  return {nodes, links};
}

/// GPUs 0 and 1 at 12 GB/s each on numa0, GPUs 2 and 3 on numa1, and 10 GB/s between.
TopologyGraph two_sockets() {
  std::vector<TopologyNode> nodes = {gpu_node(0), gpu_node(1), gpu_node(2), gpu_node(3)};
  nodes.push_back(other_node(NodeKind::Numa, "numa0"));
  nodes.push_back(other_node(NodeKind::Numa, "numa1"));
  Links links;
  for (int dev = 0; dev != 4; ++dev) join(links, dev, 4 + dev / 2, LinkClass::Pcie, 16, 12 * kGBps);
  join(links, 4, 5, LinkClass::Socket, 1, 10 * kGBps);
  return {nodes, links};
}

/// The same with one-way links between the sockets: 10 GB/s there, 6 back.
TopologyGraph unequal_sockets() {
  const TopologyGraph equal = two_sockets();
  std::vector<TopologyNode> nodes(equal.nodes().begin(), equal.nodes().end());
  Links links(equal.links().begin(), equal.links().end());
  links.back().kBps = 6 * kGBps;
  return {nodes, links};
}

BandwidthBound bound_of(const TopologyGraph& graph, std::span<const int> gpus, CollectiveKind collective,
                        int root = 0) {
  const auto bound = bandwidth_bound(graph, gpus, collective, root);
  REQUIRE(bound.status().message() == "");
  return bound.value();
}

BandwidthBound bound_of(const TopologyGraph& graph, CollectiveKind collective, int root = 0) {
  return bound_of(graph, graph.gpus(), collective, root);
}

Code refusal(const TopologyGraph& graph, std::vector<int> gpus, CollectiveKind collective, int root = 0) {
  const auto bound = bandwidth_bound(graph, gpus, collective, root);
  CHECK(in_network_bound(graph, gpus, collective, root).status().code() == bound.status().code());
  CHECK(bound.status().message() != "");
  return bound.status().code();
}

}  // namespace

TEST_CASE("each collective is bounded as nccl-tests counts its bus bandwidth") {
  const struct {
    CollectiveKind collective;
    Rational bus;  // of GB/s
    BoundKind kind;
    std::string limit;
  } rows[] = {
      // 12 GB/s into a GPU are four thirds of a block; 10 GB/s between sockets are half of two blocks.
      {CollectiveKind::AllGather, 12, BoundKind::Exact,
       "1 PCIe link into gpu0, 12.0 GB/s, as for each of 4 GPUs"},
      {CollectiveKind::ReduceScatter, 12, BoundKind::Exact,
       "1 PCIe link out of gpu0, 12.0 GB/s, as for each of 4 GPUs"},
      {CollectiveKind::AllReduce, 12, BoundKind::Exact,
       "1 PCIe link into gpu0, 12.0 GB/s, as for each of 4 GPUs"},
      {CollectiveKind::Broadcast, 10, BoundKind::Exact, "1 socket link from numa0 to numa1, 10.0 GB/s"},
      {CollectiveKind::Reduce, 10, BoundKind::Exact, "1 socket link from numa1 to numa0, 10.0 GB/s"},
      {CollectiveKind::Gather, 12, BoundKind::Exact, "1 PCIe link into gpu0, 12.0 GB/s"},
      {CollectiveKind::Scatter, 12, BoundKind::Exact, "1 PCIe link out of gpu0, 12.0 GB/s"},
      {CollectiveKind::AllToAll, *Rational::of(30, 4), BoundKind::Cuts,
       "1 socket link from numa0 to numa1, 10.0 GB/s"},
      {CollectiveKind::Scan, 10, BoundKind::Cuts, "1 socket link from numa0 to numa1, 10.0 GB/s"},
      {CollectiveKind::Exscan, 10, BoundKind::Cuts, "1 socket link from numa0 to numa1, 10.0 GB/s"},
  };
  const TopologyGraph graph = two_sockets();
  for (const auto& row : rows) {
    CAPTURE(collective_name(row.collective));
    const BandwidthBound bound = bound_of(graph, row.collective);
    CHECK(bound.bus == *Rational::of(row.bus.numerator() * kGBps, row.bus.denominator()));
    CHECK(bound.ceiling == bound.bus);
    CHECK(bound.kind == row.kind);
    CHECK(bound.limit == row.limit);
  }
}

TEST_CASE("the cut has its links by number, and the GPUs on the side that sends") {
  const TopologyGraph graph = two_sockets();
  const BandwidthBound broadcast = bound_of(graph, CollectiveKind::Broadcast, 3);
  CHECK(broadcast.links == std::vector<int>{9});  // numa1 to numa0
  CHECK(broadcast.gpus_inside == std::vector<int>{2, 3});
  const BandwidthBound gather = bound_of(graph, CollectiveKind::Gather, 1);
  CHECK(gather.links == std::vector<int>{3});  // numa0 to gpu1
  CHECK(gather.gpus_inside == std::vector<int>{0, 2, 3});
  CHECK(gather.x == 4 * kGBps);
}

TEST_CASE("links that are slower one way limit what needs that way") {
  const TopologyGraph graph = unequal_sockets();
  CHECK(bound_of(graph, CollectiveKind::Broadcast, 0).ceiling == 10 * kGBps);
  CHECK(bound_of(graph, CollectiveKind::Broadcast, 2).ceiling == 6 * kGBps);
  CHECK(bound_of(graph, CollectiveKind::Reduce, 0).ceiling == 6 * kGBps);
  CHECK(bound_of(graph, CollectiveKind::Reduce, 2).ceiling == 10 * kGBps);
  // 6 GB/s for two blocks. All that is trimmed is the way there, to 6 GB/s too.
  const BandwidthBound all_gather = bound_of(graph, CollectiveKind::AllGather);
  CHECK(all_gather.kind == BoundKind::Exact);
  CHECK(all_gather.bus == 9 * kGBps);
  CHECK(all_gather.limit == "1 socket link from numa1 to numa0, 6.0 GB/s");
  const BandwidthBound broadcast = bound_of(graph, CollectiveKind::Broadcast, 0);
  CHECK(broadcast.kind == BoundKind::EqualShares);
  CHECK(broadcast.bus == 6 * kGBps);
}

TEST_CASE("scan is limited between neighbours in the order of ranks") {
  const TopologyGraph graph = unequal_sockets();
  const std::vector<int> ascending = {0, 1, 2, 3}, descending = {3, 2, 1, 0}, mixed = {0, 2, 1, 3};
  CHECK(bound_of(graph, ascending, CollectiveKind::Scan).x == 10 * kGBps);
  CHECK(bound_of(graph, descending, CollectiveKind::Scan).x == 6 * kGBps);
  CHECK(bound_of(graph, mixed, CollectiveKind::Scan).x == 6 * kGBps);
}

TEST_CASE("GPUs outside the set forward nothing") {
  std::vector<TopologyNode> nodes = {gpu_node(0), gpu_node(1), gpu_node(2)};
  Links links;
  join(links, 0, 1, LinkClass::NvLink, 1, 20 * kGBps);
  join(links, 1, 2, LinkClass::NvLink, 1, 20 * kGBps);
  join(links, 2, 0, LinkClass::NvLink, 1, 20 * kGBps);
  const TopologyGraph graph(nodes, links);
  CHECK(bound_of(graph, CollectiveKind::Broadcast).bus == 40 * kGBps);
  const std::vector<int> pair = {0, 1};
  CHECK(bound_of(graph, pair, CollectiveKind::Broadcast).bus == 20 * kGBps);
}

TEST_CASE("GPUs of one host do without the network, and without other hosts") {
  const std::vector<Machine> hosts(2, hgx({}));
  const TopologyGraph both = TopologyGraph::build(hosts).take();
  const TopologyGraph one = TopologyGraph::build(hosts[0]).take();
  const std::span<const int> first = both.gpus().subspan(0, 8);
  const auto same = [&](CollectiveKind collective) {
    return bound_of(both, first, collective).bus == bound_of(one, collective).bus;
  };
  CHECK(same(CollectiveKind::AllGather));
  CHECK(same(CollectiveKind::Broadcast));
  CHECK(same(CollectiveKind::AllToAll));
  const UsableLinks links = usable_links(one, one.gpus());
  for (size_t i = 0; i != links.kBps.size(); ++i) {
    CAPTURE(one.node(one.links()[i].from).name, one.node(one.links()[i].to).name);
    const auto leads_nowhere = [&](int node) {
      return one.node(node).kind == NodeKind::Nic || one.node(node).kind == NodeKind::Network;
    };
    CHECK((links.kBps[i] == 0) == (leads_nowhere(one.links()[i].from) || leads_nowhere(one.links()[i].to)));
  }
}

TEST_CASE("switches that cannot turn traffic around share their uplinks equally") {
  // Four GPUs at 12 GB/s below a switch; what they send goes up to numa0 at 12 GB/s, and comes down again.
  std::vector<TopologyNode> nodes;
  for (int dev = 0; dev != 4; ++dev) nodes.push_back(gpu_node(dev));
  nodes.push_back(other_node(NodeKind::PciSwitch, "switch up"));
  nodes.push_back(other_node(NodeKind::PciSwitch, "switch down"));
  nodes.push_back(other_node(NodeKind::Numa, "numa0"));
  Links links = {{4, 6, LinkClass::Pcie, 16, 12 * kGBps}, {6, 5, LinkClass::Pcie, 16, 12 * kGBps}};
  for (int dev = 0; dev != 4; ++dev) {
    links.push_back({dev, 4, LinkClass::Pcie, 16, 12 * kGBps});
    links.push_back({5, dev, LinkClass::Pcie, 16, 12 * kGBps});
  }
  const BandwidthBound bound = bound_of({nodes, links}, CollectiveKind::AllGather);
  CHECK(bound.kind == BoundKind::EqualShares);
  CHECK(bound.bus == 3 * kGBps);
  CHECK(bound.ceiling == 12 * kGBps);
  CHECK(bound.limit ==
        "1 PCIe link into gpu0, 3.0 GB/s, as for each of 4 GPUs: a share of 1 PCIe link from numa0 to switch "
        "down, "
        "12.0 GB/s");
}

TEST_CASE("nodes that no path leads through are left out") {
  const TopologyGraph equal = two_sockets();
  std::vector<TopologyNode> nodes(equal.nodes().begin(), equal.nodes().end());
  Links links(equal.links().begin(), equal.links().end());
  nodes.push_back(other_node(NodeKind::PciSwitch, "switch"));
  nodes.push_back(other_node(NodeKind::PciSwitch, "switch below"));
  join(links, 4, 6, LinkClass::Pcie, 16, 12 * kGBps);
  join(links, 6, 7, LinkClass::Pcie, 16, 12 * kGBps);
  const TopologyGraph graph(nodes, links);
  const UsableLinks usable = usable_links(graph, graph.gpus());
  for (size_t i = 0; i != links.size(); ++i) CHECK((usable.kBps[i] == 0) == (i >= equal.links().size()));
}

TEST_CASE("of equally narrow places the one closest to fewer GPUs is named") {
  // Two GPUs below one switch, three below another, and the same bandwidth all the way between.
  std::vector<TopologyNode> nodes;
  for (int dev = 0; dev != 5; ++dev) nodes.push_back(gpu_node(dev));
  nodes.push_back(other_node(NodeKind::PciSwitch, "left"));
  nodes.push_back(other_node(NodeKind::Numa, "numa0"));
  nodes.push_back(other_node(NodeKind::PciSwitch, "right"));
  Links links;
  for (int dev = 0; dev != 5; ++dev) join(links, dev, dev < 2 ? 5 : 7, LinkClass::Pcie, 16, 24 * kGBps);
  join(links, 5, 6, LinkClass::Pcie, 8, 6 * kGBps);
  join(links, 6, 7, LinkClass::Pcie, 8, 6 * kGBps);
  const TopologyGraph graph(nodes, links);
  CHECK(bound_of(graph, CollectiveKind::AllGather).limit == "1 PCIe link from numa0 to left, 6.0 GB/s");
  CHECK(bound_of(graph, CollectiveKind::ReduceScatter).limit == "1 PCIe link from left to numa0, 6.0 GB/s");
  CHECK(bound_of(graph, CollectiveKind::Broadcast, 4).limit == "1 PCIe link from numa0 to left, 6.0 GB/s");
}

TEST_CASE("all_to_all of more GPUs than all cuts can be tried of finds cuts through the middle") {
  std::vector<TopologyNode> nodes;
  for (int dev = 0; dev != 16; ++dev) nodes.push_back(gpu_node(dev));
  Links ring;
  for (int dev = 0; dev != 16; ++dev) join(ring, dev, (dev + 1) % 16, LinkClass::Xgmi, 1, 24 * kGBps);
  CHECK(bound_of({nodes, ring}, CollectiveKind::AllToAll).x == *Rational::of(48 * kGBps, 8 * 8));
  // Four switches of four GPUs at 12 GB/s, 24 GB/s upwards, 30 GB/s between sockets.
  for (int i = 0; i != 4; ++i) nodes.push_back(other_node(NodeKind::PciSwitch, fmt::format("switch{}", i)));
  for (int i = 0; i != 2; ++i) nodes.push_back(other_node(NodeKind::Numa, fmt::format("numa{}", i)));
  Links tree;
  for (int dev = 0; dev != 16; ++dev) join(tree, dev, 16 + dev / 4, LinkClass::Pcie, 16, 12 * kGBps);
  for (int i = 0; i != 4; ++i) join(tree, 16 + i, 20 + i / 2, LinkClass::Pcie, 16, 24 * kGBps);
  join(tree, 20, 21, LinkClass::Socket, 1, 30 * kGBps);
  const BandwidthBound bound = bound_of({nodes, tree}, CollectiveKind::AllToAll);
  CHECK(bound.x == *Rational::of(30 * kGBps, 8 * 8));
  CHECK(bound.limit == "1 socket link from numa1 to numa0, 30.0 GB/s");
}

TEST_CASE("trimming ends quickly where unequal switches form a cycle") {
  // One unit more enters the cycle than leaves it, so nothing may enter.
  std::vector<TopologyNode> nodes = {gpu_node(0), gpu_node(1), other_node(NodeKind::Numa, "numa0"),
                                     other_node(NodeKind::Numa, "numa1")};
  Links links;
  join(links, 2, 3, LinkClass::Socket, 1, 1'000'000'000'000);
  links.push_back({0, 2, LinkClass::Pcie, 1, 1});
  join(links, 0, 1, LinkClass::NvLink, 1, 5);
  const TopologyGraph graph(nodes, links);
  UsableLinks trimmed = usable_links(graph, graph.gpus());
  trim_switches(graph, trimmed);
  CHECK(trimmed.kBps[0] == trimmed.kBps[1]);
  CHECK(trimmed.kBps[2] == 0);
  CHECK(bound_of(graph, CollectiveKind::AllGather).bus == 5);
}

TEST_CASE("NVSwitches that combine would nearly double all_reduce, and nothing else") {
  const TopologyGraph graph = nvswitched(8);
  const auto combined = [&](CollectiveKind collective) {
    return in_network_bound(graph, graph.gpus(), collective).value();
  };
  CHECK(bound_of(graph, CollectiveKind::AllReduce).bus == 180 * kGBps);
  CHECK(bound_of(graph, CollectiveKind::AllReduce).kind == BoundKind::Exact);
  CHECK(combined(CollectiveKind::AllReduce).bus == *Rational::of(180 * kGBps * 2 * 7, 8));
  CHECK(combined(CollectiveKind::AllReduce).limit == "18 NVLinks out of gpu0, 180.0 GB/s");
  for (const CollectiveKind collective : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                                          CollectiveKind::Broadcast, CollectiveKind::AllToAll})
    CHECK(combined(collective).bus == bound_of(graph, collective).bus);
  CHECK(in_network_bound(two_sockets(), two_sockets().gpus(), CollectiveKind::AllReduce).status().code() ==
        Code::Unsupported);
}

TEST_CASE("the fabric alone counts if it leads from every GPU to every other") {
  Machine machine = hgx({});
  const TopologyGraph all = TopologyGraph::build(machine).take();
  CHECK(fabric_or_all(all, all.gpus()).links().size() == 16);
  find_gpu(machine, 5)->links.clear();
  const TopologyGraph broken = TopologyGraph::build(machine).take();
  CHECK(fabric_or_all(broken, broken.gpus()).links().size() == broken.links().size());
  const std::vector<int> others = {broken.gpus()[0], broken.gpus()[1], broken.gpus()[7]};
  CHECK(fabric_or_all(broken, others).links().size() == 14);
  // One way is not enough.
  const TopologyGraph one_way({gpu_node(0), gpu_node(1)}, {{0, 1, LinkClass::NvLink, 1, 20 * kGBps},
                                                           {1, 0, LinkClass::Pcie, 16, 12 * kGBps}});
  CHECK(fabric_or_all(one_way, one_way.gpus()).links().size() == 2);
}

TEST_CASE("of GPUs that are not joined the bound is 0, and says from where to where nothing leads") {
  std::vector<TopologyNode> nodes;
  for (int dev = 0; dev != 6; ++dev) nodes.push_back(gpu_node(dev));
  Links links;
  for (const auto& [a, b] : {std::pair(0, 1), {1, 2}, {3, 4}, {4, 5}})
    join(links, a, b, LinkClass::NvLink, 1, 20 * kGBps);
  const TopologyGraph apart(nodes, links);
  for (int kind = 0; kind != kCollectives; ++kind) {
    if (static_cast<CollectiveKind>(kind) == CollectiveKind::Barrier) continue;
    const BandwidthBound bound = bound_of(apart, static_cast<CollectiveKind>(kind));
    CAPTURE(collective_name(static_cast<CollectiveKind>(kind)), bound.limit);
    CHECK(bound.bus == 0);
    CHECK(bound.links.empty());
    CHECK((bound.limit == "nothing leads from gpu0-gpu2 to gpu3-gpu5" ||
           bound.limit == "nothing leads from gpu3-gpu5 to gpu0-gpu2"));
  }
  links.push_back({2, 3, LinkClass::NvLink, 1, 20 * kGBps});
  const TopologyGraph one_way(nodes, links);
  CHECK(bound_of(one_way, CollectiveKind::Broadcast, 0).bus == 20 * kGBps);
  CHECK(bound_of(one_way, CollectiveKind::AllGather).limit == "nothing leads from gpu3-gpu5 to gpu0-gpu2");
  const TopologyGraph bare({gpu_node(0), gpu_node(1)}, {});
  CHECK(bound_of(bare, CollectiveKind::AllGather).limit == "nothing leads from gpu1 to gpu0");
}

TEST_CASE("fewer than two GPUs, nodes that are no GPUs, and roots that are no ranks are refused") {
  const TopologyGraph graph = nvswitched(4);
  CHECK(refusal(graph, {}, CollectiveKind::AllGather) == Code::InvalidArgument);
  CHECK(refusal(graph, {2}, CollectiveKind::AllGather) == Code::InvalidArgument);
  CHECK(refusal(graph, {0, 4}, CollectiveKind::AllGather) == Code::InvalidArgument);
  CHECK(refusal(graph, {0, 5}, CollectiveKind::AllGather) == Code::InvalidArgument);
  CHECK(refusal(graph, {0, -1}, CollectiveKind::AllGather) == Code::InvalidArgument);
  CHECK(refusal(graph, {0, 1, 0}, CollectiveKind::AllGather) == Code::InvalidArgument);
  CHECK(refusal(graph, {0, 1}, CollectiveKind::Broadcast, 2) == Code::InvalidArgument);
  CHECK(refusal(graph, {0, 1}, CollectiveKind::Gather, -1) == Code::InvalidArgument);
  CHECK(refusal(graph, {0, 1}, CollectiveKind::Barrier) == Code::InvalidArgument);
  CHECK(refusal(graph, {0, 1}, CollectiveKind::PointToPoint) == Code::InvalidArgument);
  const auto alone = bandwidth_bound(graph, std::vector<int>{2}, CollectiveKind::AllGather);
  CHECK(alone.status().message() ==
        "a bound needs two GPUs or more, between which data moves, not gpu2 alone");
}

TEST_CASE("links of 1,000 TB/s are exact; links that do not add up in 64 bits are refused") {
  const int64_t fast = 1'000'000'000'000;
  std::vector<TopologyNode> nodes;
  Links links;
  for (int dev = 0; dev != 64; ++dev) nodes.push_back(gpu_node(dev));
  nodes.push_back(other_node(NodeKind::NvSwitch, "nvswitch"));
  for (int dev = 0; dev != 64; ++dev) join(links, dev, 64, LinkClass::NvLink, 1, fast - dev);
  const TopologyGraph graph(nodes, links);
  CHECK(bound_of(graph, CollectiveKind::AllGather).bus == fast - 63);
  CHECK(bound_of(graph, CollectiveKind::AllGather).x == *Rational::of(fast - 63, 63));
  CHECK(bound_of(graph, CollectiveKind::AllReduce).kind == BoundKind::EqualShares);
  for (const int64_t kBps : {FlowNetwork::kUnlimited / 4, std::numeric_limits<int64_t>::max()}) {
    links[0].kBps = kBps;
    const TopologyGraph too_fast(nodes, links);
    for (const CollectiveKind collective :
         {CollectiveKind::AllGather, CollectiveKind::AllToAll, CollectiveKind::Gather})
      CHECK(bandwidth_bound(too_fast, too_fast.gpus(), collective).status().code() == Code::InvalidArgument);
  }
}
