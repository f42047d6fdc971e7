// SPDX-License-Identifier: Apache-2.0
// The steps of the search for forests, one by one.
#include <numeric>

#include "balance.h"
#include "catch.h"
#include "compact_graph.h"
#include "forest_size.h"
#include "limit_machines.h"
#include "pack_trees.h"
#include "pool_shares.h"
#include "split_off.h"

using namespace rondo;
using namespace rondo::test;

namespace {

WorkLimit unlimited() { return {int64_t{1} << 40, std::chrono::hours(1)}; }

/// GPUs around one switch.
CompactGraph star(int gpus, int64_t kBps) {
  std::vector<CompactEdge> edges;
  for (int gpu = 0; gpu != gpus; ++gpu) {
    edges.push_back({gpu, gpus, kBps, {}});
    edges.push_back({gpus, gpu, kBps, {}});
  }
  return {gpus, gpus + 1, edges};
}

/// What switches carry at most, for the time that trees of weight 1 take.
void check_shares(const Pool& pool, const Rational& scale) {
  const auto shares = pool_shares(pool, scale);
  REQUIRE(shares);
  const size_t neighbours = pool.weights.size(), switches = pool.sends[0].size();
  for (size_t w = 0; w != switches; ++w) {
    for (size_t here = 0; here != neighbours; ++here) {
      double sent = 0, received = 0;
      for (size_t other = 0; other != neighbours; ++other) {
        const auto part = [&](size_t from, size_t to) {
          const std::vector<int64_t>& share = (*shares)[from][to];
          const double all = static_cast<double>(std::accumulate(share.begin(), share.end(), int64_t{0}));
          return pool.weights[from][to] == 0 ? 0
                                             : static_cast<double>(pool.weights[from][to] * share[w]) / all;
        };
        sent += part(here, other);
        received += part(other, here);
      }
      CHECK(sent <= scale.approximate() * static_cast<double>(pool.sends[here][w]) * (1 + 1e-9));
      CHECK(received <= scale.approximate() * static_cast<double>(pool.receives[here][w]) * (1 + 1e-9));
    }
  }
}

Pool all_to_all(Table<int64_t> links, int64_t weight) {
  const size_t n = links.size();
  Pool pool{links, links, Table<int64_t>(n, std::vector<int64_t>(n, weight))};
  for (size_t i = 0; i != n; ++i) pool.weights[i][i] = 0;
  return pool;
}

}  // namespace

TEST_CASE("equal switches share what neighbours send in the proportion of their links") {
  const Pool pool = all_to_all({{5, 4}, {5, 4}, {10, 8}}, 1);
  const auto shares = pool_shares(pool, Rational::of(2, 9).value());
  REQUIRE(shares);
  CHECK((*shares)[0][1] == std::vector<int64_t>{5, 4});
  CHECK((*shares)[2][0] == std::vector<int64_t>{5, 4});
}

TEST_CASE("neighbours that lost links use what they have left evenly, all others the rest") {
  // Each has 18 links but those that lost some: the weights fill the one with the fewest.
  check_shares(all_to_all({{4, 5, 5, 4}, {4, 5, 5, 4}, {4, 5, 5, 4}, {3, 5, 5, 4}}, 17), 3);
  check_shares(all_to_all({{4, 5, 5, 4}, {4, 5, 4, 4}, {4, 5, 5, 4}, {3, 5, 5, 4}}, 17), 3);
  check_shares(all_to_all({{4, 5, 5, 4}, {4, 5, 5, 4}, {4, 5, 5, 4}, {0, 5, 5, 4}}, 14), 3);
}

TEST_CASE("neighbours whose links lead to different switches get no shares") {
  CHECK_FALSE(pool_shares(all_to_all({{9, 1}, {1, 9}}, 10), 1));
}

TEST_CASE("k is the lowest that is as fast as the bound, and none slower than what is known counts") {
  // Four GPUs in a ring: three blocks go into each by two links, in halves.
  std::vector<CompactEdge> edges;
  for (int gpu = 0; gpu != 4; ++gpu) {
    edges.push_back({gpu, (gpu + 1) % 4, 24, {}});
    edges.push_back({gpu, (gpu + 3) % 4, 24, {}});
  }
  const CompactGraph ring{4, 4, edges};
  WorkLimit limit = unlimited();
  const auto best = best_size(ring, 16, Rational(), 8, limit);
  REQUIRE(best);
  CHECK(best->k == 2);
  CHECK(best->scale == Rational::of(3, 24));
  CHECK(best->rate() == 16);
  const auto single = best_size(ring, 16, Rational(), 1, limit);
  REQUIRE(single);
  CHECK(single->rate() == 12);
  CHECK_FALSE(best_size(ring, 16, 12, 1, limit));
}

TEST_CASE("GPUs below a switch that keeps them apart share what comes down to them") {
  // gpu0 and gpu1 below a switch of two nodes, gpu2 beside the CPU.
  constexpr int kUp = 3, kDown = 4, kCpu = 5;
  const CompactGraph graph{3,
                           6,
                           {{0, kUp, 6, {}},
                            {1, kUp, 6, {}},
                            {2, kCpu, 6, {}},
                            {kUp, kCpu, 6, {}},
                            {kDown, 0, 6, {}},
                            {kDown, 1, 6, {}},
                            {kCpu, 2, 6, {}},
                            {kCpu, kDown, 6, {}}}};
  WorkLimit limit = unlimited();
  GatherNetwork network(graph, limit);
  network.set_scale(1, 1);
  CHECK(balance(network));
  for (int node = kUp; node <= kCpu; ++node) CHECK(network.entering(node) == network.leaving(node));
  CHECK(network.capacity(kDown, 0) == 3);
  CHECK(network.capacity(kDown, 1) == 3);
  // Two trees a root send four blocks to each of the two: more than the link down carries.
  network.set_scale(1, 2);
  CHECK(network.shortfall() == 0);
  CHECK_FALSE(balance(network));
}

TEST_CASE("splitting a switch off deals its capacity out evenly") {
  WorkLimit limit = unlimited();
  const CompactGraph graph = star(5, 4);
  GatherNetwork network(graph, limit);
  network.set_scale(1, 1);
  LogicalGraph logical = split_off_switches(network);
  for (int from = 0; from != 5; ++from)
    for (int to = 0; to != 5; ++to) CHECK(logical.capacity(from, to) == (from == to ? 0 : 1));
  CHECK(logical.strands(0, 1)[0].nodes == std::vector<int>{0, 5, 1});
}

TEST_CASE("what is split off suffices for all trees, and trees take no more than there is") {
  // Two switches with three GPUs each, joined by a link that just suffices.
  std::vector<CompactEdge> edges = {{6, 7, 3, {}}, {7, 6, 3, {}}};
  for (int gpu = 0; gpu != 6; ++gpu) {
    edges.push_back({gpu, 6 + gpu / 3, 5, {}});
    edges.push_back({6 + gpu / 3, gpu, 5, {}});
  }
  const CompactGraph graph{6, 8, edges};
  WorkLimit limit = unlimited();
  GatherNetwork network(graph, limit);
  network.set_scale(1, 1);
  REQUIRE(network.shortfall() == 0);
  const LogicalGraph logical = split_off_switches(network);
  const auto trees = pack_trees(logical, 1, limit);
  REQUIRE(trees);
  CHECK(trees->size() == 6);
  std::vector<std::vector<int64_t>> used(6, std::vector<int64_t>(6));
  for (const PackedTree& tree : *trees) {
    CHECK(tree.reached.size() == 6);
    for (int gpu = 0; gpu != 6; ++gpu)
      if (gpu != tree.root)
        used[static_cast<size_t>(tree.parent[static_cast<size_t>(gpu)])][static_cast<size_t>(gpu)] +=
            tree.weight;
  }
  for (int from = 0; from != 6; ++from)
    for (int to = 0; to != 6; ++to)
      CHECK(used[static_cast<size_t>(from)][static_cast<size_t>(to)] <= logical.capacity(from, to));
}

TEST_CASE("a limit of three flows is over after three, and stays over") {
  WorkLimit limit(3, std::chrono::hours(1));
  CHECK(limit.allows_flow());
  WorkLimit half = limit.half();
  CHECK(half.allows_flow());
  CHECK_FALSE(half.allows_flow());
  limit.count(half);
  CHECK(limit.allows_flow());
  CHECK_FALSE(limit.allows_flow());
  CHECK(limit.over());
}

TEST_CASE("switches with the same neighbours are one node, unless they are joined by parallel links") {
  std::vector<TopologyNode> nodes = {gpu_node(0), gpu_node(1), other_node(NodeKind::NvSwitch, "a"),
                                     other_node(NodeKind::NvSwitch, "b")};
  std::vector<TopologyLink> links;
  for (const int gpu : {0, 1})
    for (const int nvswitch : {2, 3}) {
      links.push_back({gpu, nvswitch, LinkClass::NvLink, 1, 20});
      links.push_back({nvswitch, gpu, LinkClass::NvLink, 1, 20});
    }
  const auto compacted = [&](bool pool) {
    const TopologyGraph graph(nodes, links);
    return compact_graph(graph, graph.gpus(), usable_links(graph, graph.gpus()), pool);
  };
  CHECK(compacted(true).nodes == 3);
  CHECK(compacted(true).pooled);
  CHECK(compacted(true).edges.size() == 4);
  CHECK(compacted(true).edges[0].kBps == 40);
  CHECK(compacted(false).nodes == 4);
  links.push_back({0, 2, LinkClass::NvLink, 1, 20});
  CHECK(compacted(true).nodes == 4);
  CHECK_FALSE(compacted(true).pooled);
}

TEST_CASE("of two layers of equal switches one is a single node") {
  std::vector<TopologyNode> nodes;
  for (int dev = 0; dev != 4; ++dev) nodes.push_back(gpu_node(dev));
  for (const char* name : {"a", "b", "c", "d"}) nodes.push_back(other_node(NodeKind::NvSwitch, name));
  std::vector<TopologyLink> links;
  const auto join_all = [&](std::vector<int> here, std::vector<int> there) {
    for (const int from : here)
      for (const int to : there) {
        links.push_back({from, to, LinkClass::NvLink, 1, 20});
        links.push_back({to, from, LinkClass::NvLink, 1, 20});
      }
  };
  join_all({0, 1}, {4, 5});
  join_all({4, 5}, {6, 7});
  join_all({6, 7}, {2, 3});
  const TopologyGraph graph(nodes, links);
  const CompactGraph compact = compact_graph(graph, graph.gpus(), usable_links(graph, graph.gpus()), true);
  CHECK(compact.pooled);
  CHECK(compact.nodes == 7);
}
