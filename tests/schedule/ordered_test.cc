// SPDX-License-Identifier: Apache-2.0
// Algorithms over ranks in an order other than that of their numbers.
#include "algorithms/algorithm.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "catch.h"
#include "sanitized.h"
#include "schedule/relabelled.h"
#include "schedule/verifier.h"
#include "shapes.h"

using namespace rondo;

namespace {

constexpr int kMaxRanks = kSanitized ? 8 : 13;

std::vector<int> shuffled(int n, uint32_t seed) {
  std::vector<int> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

}  // namespace

TEST_CASE("an algorithm verifies in any order of its ranks, wherever none is prescribed") {
  for (const Algorithm& algorithm : algorithms()) {
    for (int n = 1; n <= kMaxRanks; ++n)
      for (const Shape& shape : supported_shapes(algorithm, n)) {
        if (!may_relabel(shape, algorithm.max_count(shape))) continue;
        const auto seed = static_cast<uint32_t>(n * 100 + shape.root);
        const std::vector<int> order = shuffled(n, seed);
        std::vector<Schedule> ranks;
        for (int rank = 0; rank < n; ++rank) ranks.push_back(build_in_order(algorithm, shape, rank, order));
        for (const bool in_place : {false, true}) {
          const Status status =
              verify(shape, ranks, {.in_place = in_place, .short_chunks = shape.varying ? seed : 0});
          INFO(name_of(algorithm) << ", " << to_string(shape) << ", seed " << seed << ": "
                                  << status.message());
          REQUIRE(status.ok());
        }
      }
  }
}

TEST_CASE("groups may be of any ranks, unless operands are combined in rank order") {
  for (const Algorithm& algorithm : algorithms())
    for (int n = 4; algorithm.for_groups && n <= kMaxRanks; ++n)
      for (Shape shape : supported_shapes(algorithm, n)) {
        const std::vector<int> order = shuffled(n, static_cast<uint32_t>(n));
        shape.order = order;
        INFO(name_of(algorithm) << ", " << to_string(shape));
        const CollectiveTraits& kind = traits(shape.kind);
        REQUIRE(algorithm.supports(shape) == (!kind.is_scan() && (shape.commutative || !kind.reduces())));
        if (!algorithm.supports(shape)) continue;
        const std::vector<Schedule> ranks = build_all(algorithm, shape);
        const Status status = verify(shape, ranks, {.in_place = n % 2 == 0});
        INFO(status.message());
        REQUIRE(status.ok());
        Shape by_number = shape;
        by_number.order = {};
        by_number.root = static_cast<int>(std::ranges::find(order, shape.root) - order.begin());
        for (int place = 0; place < n; ++place) {
          const Schedule at_place = algorithm.build(by_number, place);
          const Schedule& of_rank = ranks[static_cast<size_t>(order[static_cast<size_t>(place)])];
          REQUIRE(of_rank.peer_sets.size() == at_place.peer_sets.size());
          for (size_t set = 0; set < at_place.peer_sets.size(); ++set)
            for (size_t i = 0; i < at_place.peer_sets[set].size(); ++i)
              REQUIRE(of_rank.peer_sets[set][i] == order[static_cast<size_t>(at_place.peer_sets[set][i])]);
        }
      }
}

TEST_CASE(
    "rows that state no order of operands, and do not connect all ranks, follow the order of the shape") {
  std::set<std::string> following;
  for (const Algorithm& algorithm : algorithms())
    for (int n = 2; !algorithm.for_groups && n <= kMaxRanks; ++n)
      for (Shape shape : supported_shapes(algorithm, n)) {
        const std::vector<Schedule> by_number = build_all(algorithm, shape);
        const std::vector<int> order = shuffled(n, static_cast<uint32_t>(n + 7));
        shape.order = order;
        const std::vector<Schedule> ranks = build_all(algorithm, shape);
        INFO(name_of(algorithm) << ", " << to_string(shape));
        const bool follows = follows_order(algorithm, shape);
        if (follows) following.insert(name_of(algorithm));
        for (int rank = 0; rank < n; ++rank) {
          const auto at = static_cast<size_t>(rank);
          const std::string expected =
              follows ? to_string(build_in_order(algorithm, shape, rank, order)) : to_string(by_number[at]);
          REQUIRE(to_string(ranks[at]) == expected);
        }
        const Status status = verify(shape, ranks, {.association = algorithm.association});
        INFO(status.message());
        REQUIRE(status.ok());
      }
  for (const char* ring :
       {"all_reduce/ring", "all_gather/ring", "reduce_scatter/ring", "all_reduce/double_binary_tree",
        "broadcast/chain", "reduce/binomial", "barrier/dissemination"})
    CHECK(following.contains(ring));
  for (const char* fixed :
       {"all_reduce/one_shot", "all_reduce/two_shot", "reduce/flat", "scan/chain", "gather/linear"})
    CHECK_FALSE(following.contains(fixed));
}

TEST_CASE("around ranks dealt out to unequal hosts, a ring enters each host once") {
  const std::vector<int> hosts = {0, 1, 2, 0, 1, 2, 0, 1, 0, 0, 0};  // of 6, 3 and 2 ranks
  const std::vector<int> order = {0, 3, 6, 8, 9, 10, 1, 4, 7, 2, 5};
  for (const CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    const Algorithm& ring = *algorithm_by_name(kind, "ring").value();
    const auto far_ends = [&](std::span<const int> in) {
      const Shape shape{.kind = kind, .nranks = static_cast<int>(hosts.size()), .order = in};
      int found = 0;
      for (int rank = 0; rank < shape.nranks; ++rank) {
        const Schedule schedule = ring.build(shape, rank);
        std::set<int> peers;
        for (const auto& set : schedule.peer_sets)
          for (const int peer : set)
            if (schedule.is_peer(peer)) peers.insert(peer);
        found += static_cast<int>(std::ranges::count_if(peers, [&](int peer) {
          return hosts[static_cast<size_t>(peer)] != hosts[static_cast<size_t>(rank)];
        }));
      }
      return found;
    };
    CHECK(far_ends(order) == 6);  // three connections have two ends each
    CHECK(far_ends({}) > 6);
  }
}

TEST_CASE("in another order the root's neighbours are those adjacent in that order") {
  const std::vector<int> order = {0, 2, 4, 6, 1, 3, 5, 7};
  const Shape shape{.kind = CollectiveKind::Broadcast, .nranks = 8, .root = 0};
  const Algorithm& chain = *algorithm_by_name(shape.kind, "chain").value();
  for (size_t place = 0; place + 1 < order.size(); ++place) {
    const Schedule schedule = build_in_order(chain, shape, order[place], order);
    const Step& last = schedule.lanes[0].steps.back();
    REQUIRE(schedule.peer_sets[last.send_set] == std::vector{order[place + 1]});
  }
}
