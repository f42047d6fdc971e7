// SPDX-License-Identifier: Apache-2.0
#include "control_tree.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "catch.h"
#include "seed.h"

namespace rondo {
namespace {

std::vector<uint64_t> random_hosts(std::mt19937& random, int nranks, int nhosts) {
  std::vector<uint64_t> hosts(static_cast<size_t>(nranks));
  for (auto& host : hosts) host = 100 + random() % static_cast<unsigned>(nhosts);
  return hosts;
}

}  // namespace

TEST_CASE("the control tree connects all ranks, and both ends of an edge agree on it") {
  const unsigned seed = GENERATE(1u, 2u, 3u);
  std::mt19937 random(test::test_seed(seed));
  for (const int nranks : {1, 2, 3, 7, 8, 9, 10, 64, 65, 130}) {
    for (const int nhosts : {1, 2, 5, 200}) {
      INFO("seed " << seed << ", " << nranks << " ranks, " << nhosts << " hosts");
      const auto hosts = random_hosts(random, nranks, nhosts);
      const auto parents = control_parents(hosts);
      int roots = 0;
      for (int rank = 0; rank < nranks; ++rank) {
        const ControlTree tree = control_tree(parents, {}, rank);
        roots += tree.parent < 0 ? 1 : 0;
        REQUIRE(tree.parent < rank);  // so following parents terminates
        if (tree.parent < 0) continue;
        const auto siblings = control_tree(parents, {}, tree.parent).children;
        REQUIRE(std::count(siblings.begin(), siblings.end(), rank) == 1);
      }
      REQUIRE(roots == 1);
    }
  }
}

TEST_CASE("the tree has one edge fewer between hosts than hosts, and no rank has many neighbors") {
  std::mt19937 random(test::test_seed(9));
  const auto hosts = random_hosts(random, 300, 20);
  const auto parents = control_parents(hosts);
  int between = 0;
  for (int rank = 0; rank < 300; ++rank) {
    const ControlTree tree = control_tree(parents, {}, rank);
    REQUIRE(tree.children.size() <= 16);
    if (tree.parent >= 0 && hosts[static_cast<size_t>(tree.parent)] != hosts[static_cast<size_t>(rank)])
      ++between;
  }
  REQUIRE(between == 19);
}

TEST_CASE("the tree of the remaining ranks stays connected, and both ends of an edge agree on it") {
  const unsigned seed = GENERATE(1u, 2u, 3u);
  std::mt19937 random(test::test_seed(seed));
  for (const int nranks : {2, 3, 10, 65, 130}) {
    INFO("seed " << seed << ", " << nranks << " ranks");
    const auto parents = control_parents(random_hosts(random, nranks, 5));
    std::vector<int> ranks(static_cast<size_t>(nranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::shuffle(ranks.begin(), ranks.end(), random);
    std::set<int> gone;
    while (!ranks.empty()) {
      int roots = 0;
      for (const int rank : ranks) {
        const ControlTree tree = control_tree(parents, gone, rank);
        roots += tree.parent < 0 ? 1 : 0;
        REQUIRE(tree.parent < rank);
        if (tree.parent < 0) continue;
        REQUIRE_FALSE(gone.contains(tree.parent));
        const auto siblings = control_tree(parents, gone, tree.parent).children;
        REQUIRE(std::count(siblings.begin(), siblings.end(), rank) == 1);
      }
      REQUIRE(roots == 1);
      gone.insert(ranks.back());
      ranks.pop_back();
    }
  }
}

}  // namespace rondo
