// SPDX-License-Identifier: Apache-2.0
// Algorithms over levels: whom a rank is connected with.
#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include "catch.h"
#include "sanitized.h"
#include "shapes.h"

using namespace rondo;

namespace {

std::set<int> peers_of(const Schedule& schedule) {
  std::set<int> peers;
  for (const auto& set : schedule.peer_sets)
    for (const int member : set)
      if (schedule.is_peer(member)) peers.insert(member);
  return peers;
}

/// The largest group that a rank is in, and its place there.
std::pair<int, int> place_of(const Shape& shape, int rank) {
  const auto found = std::ranges::find(shape.order, rank);
  const int at = shape.order.empty() ? rank : static_cast<int>(found - shape.order.begin());
  if (shape.hosts.empty()) return {at / shape.levels.outermost(), at % shape.levels.outermost()};
  int host = 0, first = 0;
  for (; at >= first + shape.hosts[static_cast<size_t>(host)]; ++host)
    first += shape.hosts[static_cast<size_t>(host)];
  return {host, at - first};
}

/// The most ranks of other groups that any rank is connected with; of many ranks, each seventh and the root
/// are looked at.
size_t max_far_peers(const Algorithm& algorithm, const Shape& shape) {
  size_t most = 0;
  for (int rank = 0; rank < shape.nranks; ++rank) {
    if (shape.nranks > 100 && rank % 7 != 0 && rank != shape.root) continue;
    std::set<int> peers = peers_of(algorithm.build(shape, rank));
    const int group = place_of(shape, rank).first;
    std::erase_if(peers, [&](int peer) { return place_of(shape, peer).first == group; });
    most = std::max(most, peers.size());
  }
  return most;
}

}  // namespace

TEST_CASE("beyond 16 groups a rank is connected with few others, unless the row says that it is with all") {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind == CollectiveKind::AllToAll) continue;
    size_t most = 0;
    for (const int groups : {17, 24, 31, 32, 64, 100}) {
      if (brief() && groups > 17) continue;
      for (const auto& [levels, last] :
           {std::pair(Levels(1), 1), {2, 2}, {8, 8}, {Levels{2, 8}, 8}, {8, 1}, {8, 7}}) {
        std::vector<int> hosts(static_cast<size_t>(groups), levels.outermost());
        hosts.back() = last;
        const int n = std::accumulate(hosts.begin(), hosts.end(), 0);
        Shape shape{.kind = algorithm.kind, .nranks = n, .root = has_root(algorithm.kind) ? n / 2 + 1 : 0};
        if (last == levels.outermost())
          shape.levels = levels;
        else
          shape.hosts = hosts;
        if (!algorithm.supports(shape)) continue;
        const size_t found = max_far_peers(algorithm, shape);
        // Of all other ranks, if the algorithm does not know of groups.
        const double bound = 2 * std::log2(algorithm.for_groups ? groups : n) + 2;
        INFO(name_of(algorithm) << ", " << to_string(shape) << ": " << found << " of " << bound);
        if (!algorithm.connects_all) CHECK(static_cast<double>(found) <= bound);
        most = std::max(most, found);
      }
    }
    INFO(name_of(algorithm));
    if (algorithm.connects_all) CHECK(most >= (brief() ? 16 : 99));
  }
}

TEST_CASE("over levels no connection crosses from one place of a group to another of a different group") {
  int rows = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (!std::string(algorithm.name).starts_with("hierarchical")) continue;
    ++rows;
    for (int n = 4; n <= (brief() ? 8 : 16); ++n)
      for (Shape shape : supported_shapes(algorithm, n)) {
        std::vector<int> order =
            shape.commutative ? std::vector<int>(static_cast<size_t>(n)) : std::vector<int>();
        for (int i = 0; i < static_cast<int>(order.size()); ++i) order[static_cast<size_t>(i)] = n - 1 - i;
        for (const bool in_order : {true, false}) {
          if (!in_order) shape.order = order;
          if (!algorithm.supports(shape)) continue;
          for (int rank = 0; rank < n; ++rank)
            for (const int peer : peers_of(algorithm.build(shape, rank))) {
              INFO(name_of(algorithm) << ", " << to_string(shape) << ": " << rank << " and " << peer);
              const auto own = place_of(shape, rank), other = place_of(shape, peer);
              REQUIRE((own.first == other.first || own.second == other.second));
            }
        }
      }
  }
  CHECK(rows == 24);
}

namespace {

/// The part of all blocks, or of a vector, that the ranks at each place send to other groups.
std::vector<double> sent_between_groups(const Algorithm& algorithm, const Shape& shape) {
  std::vector<double> sent(static_cast<size_t>(places_of(shape)));
  for (const Schedule& schedule : build_all(algorithm, shape)) {
    const auto [group, place] = place_of(shape, schedule.rank);
    for (const Lane& lane : schedule.lanes)
      for (const Step& step : lane.steps) {
        if (!step.has(kSend)) continue;
        for (const int peer : schedule.peer_sets[step.send_set])
          if (place_of(shape, peer).first != group)
            sent[static_cast<size_t>(place)] +=
                static_cast<double>(step.count) / std::max(schedule.chunks.input, schedule.chunks.output);
      }
  }
  return sent;
}

}  // namespace

TEST_CASE("between groups, the ranks at each place send as much as they weigh") {
  std::set<CollectiveKind> kinds;
  for (const Algorithm& algorithm : algorithms())
    for (int n = 4; n <= (brief() ? 8 : 16); ++n)
      for (Shape shape : supported_shapes(algorithm, n)) {
        if (!algorithm.has_shares(shape)) continue;
        kinds.insert(algorithm.kind);
        INFO(name_of(algorithm) << ", " << to_string(shape));
        const std::vector<double> sent = sent_between_groups(algorithm, shape);
        const double all = std::accumulate(sent.begin(), sent.end(), 0.0);
        const double weight = std::accumulate(shape.weights.begin(), shape.weights.end(), 0.0);
        for (size_t place = 0; place < sent.size(); ++place)
          CHECK(sent[place] == Approx(all * shape.weights[place] / weight));
        shape.weights = {};
        const std::vector<double> equal = sent_between_groups(algorithm, shape);
        CHECK(all == Approx(std::accumulate(equal.begin(), equal.end(), 0.0)));
      }
  CHECK(kinds.size() == 7);
}

TEST_CASE("blocks that would have too many parts, or that move several at once, are not divided") {
  const auto has_shares = [](CollectiveKind kind, const char* name, int nranks,
                             const std::vector<int>& weights) {
    const Algorithm& row = *algorithm_by_name(kind, name).value();
    Shape shape{.kind = kind, .nranks = nranks, .levels = 8};
    shape.weights = weights;
    REQUIRE(row.supports(shape));
    Shape equal = shape;
    equal.weights = {};
    if (!row.has_shares(shape)) CHECK(to_string(row.build(shape, 3)) == to_string(row.build(equal, 3)));
    return row.has_shares(shape);
  };
  const std::vector<int> parts15 = {1, 1, 2, 2, 2, 2, 2, 3}, parts17 = {1, 1, 2, 2, 2, 2, 2, 5};
  for (const CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    INFO(collective_name(kind));
    CHECK(has_shares(kind, "hierarchical_ring", 24, parts15));
    CHECK_FALSE(has_shares(kind, "hierarchical_ring", 24, parts17));
    CHECK_FALSE(has_shares(kind, "hierarchical_ring", 4096, parts15));  // 16-bit numbers
    CHECK_FALSE(has_shares(kind, "hierarchical", 24, parts15));
  }
  CHECK_FALSE(has_shares(CollectiveKind::AllGather, "hierarchical_doubling", 24, parts15));
  CHECK_FALSE(has_shares(CollectiveKind::ReduceScatter, "hierarchical_halving", 24, parts15));
  CHECK_FALSE(has_shares(CollectiveKind::AllToAll, "hierarchical", 24, parts15));
}

TEST_CASE("over levels a plan for more ranks than 16-bit numbers allow is refused, and never aborts") {
  int built = 0, refused = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.for_groups) continue;
    for (const Levels& levels :
         {Levels{8}, Levels{8, 64}, Levels{8, 64, 128}, Levels{2, 4, 8, 16}, Levels{4096}})
      for (const int n : {8192, 12'288, 81'920, 1 << 30})
        for (const bool varying : {false, true}) {
          if (brief() && (n == 8192 || n == 81'920 || levels.count() != 3)) continue;
          const Shape shape{.kind = algorithm.kind,
                            .nranks = n,
                            .varying = varying && traits(algorithm.kind).has_blocks(),
                            .levels = levels};
          if (n == 1 << 30 || !algorithm.supports(shape)) {
            REQUIRE((n != 1 << 30 || !traits(shape.kind).has_blocks() || !algorithm.supports(shape)));
            ++refused;
            continue;
          }
          INFO(name_of(algorithm) << ", " << to_string(shape));
          REQUIRE(algorithm.build(shape, levels.outermost() - 1).rank == levels.outermost() - 1);
          ++built;
        }
  }
  CHECK(built > (brief() ? 5 : 50));
  CHECK(refused > (brief() ? 5 : 50));
}
