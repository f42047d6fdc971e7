// SPDX-License-Identifier: Apache-2.0
// Which ports the ranks of a host use, and which of two hosts' ports meet.
#include "verbs/rails.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "catch.h"
#include "ports.h"
#include "seed.h"
#include "verbs/gid_choice.h"

namespace rondo::test {
namespace {

using verbs::RailEnd;
using verbs::RailPair;
using verbs::Rails;
using verbs::rate_of_connection;
using verbs::VerbsPort;
using Pairs = std::vector<RailPair>;

/// A host's ports as one rank sees them, with these distances.
std::vector<VerbsPort> ports_at(const std::vector<int>& distances) {
  std::vector<VerbsPort> ports;
  for (const int distance : distances) {
    ports.push_back(roce_port(fmt::format("mlx5_{}", ports.size()), {}));
    ports.back().distance = static_cast<uint16_t>(distance);
  }
  verbs::number_rails(ports);
  return ports;
}

bool always(const VerbsPort&, const VerbsPort&) { return true; }

struct RandomEnds {
  std::vector<VerbsPort> here;
  std::vector<VerbsPort> there;
  std::set<std::pair<int, int>> reaching;  // numbers of two rails, the lower one first

  explicit RandomEnds(XorShift& random) {
    for (auto* ports : {&here, &there}) {
      std::vector<int> distances(static_cast<size_t>(draw(random, 5)));
      for (int& distance : distances) distance = draw(random, 3);
      *ports = ports_at(distances);
      if (!ports->empty() && draw(random, 3) == 0) ports->erase(ports->begin());
      for (VerbsPort& port : *ports) port.rate = draw(random, 4) == 0 ? 25 : 100;
    }
    const int sparsity = 1 + draw(random, 3);
    for (int i = 0; i < 5; ++i)
      for (int j = i; j < 5; ++j)
        if (draw(random, sparsity) == 0) reaching.insert({i, j});
  }

  bool reach(const VerbsPort& a, const VerbsPort& b) const {
    return reaching.contains(std::minmax<int>(a.rail, b.rail));
  }
  verbs::Reaches reaches() const {
    return [this](const VerbsPort& a, const VerbsPort& b) { return reach(a, b); };
  }
};

/// The end at a random port of its nearest.
RailEnd end_of(int rank, const std::vector<VerbsPort>& ports, XorShift& random) {
  const auto nearest = verbs::nearest_ports(ports);
  const int first =
      nearest.empty() ? -1 : nearest[static_cast<size_t>(draw(random, static_cast<int>(nearest.size())))];
  return {.rank = rank, .ports = ports, .first = first};
}

bool is_nearest(const std::vector<VerbsPort>& ports, int position) {
  const auto nearest = verbs::nearest_ports(ports);
  return std::find(nearest.begin(), nearest.end(), position) != nearest.end();
}

void swap_ends(Rails& rails) {
  for (auto* pairs : {&rails.used, &rails.spare})
    for (RailPair& pair : *pairs) std::swap(pair.here, pair.there);
}

}  // namespace

TEST_CASE("a rank uses its nearest ports, slow ones only without others") {
  CHECK(verbs::nearest_ports(ports_at({2, 0, 0, 1})) == std::vector{1, 2});
  auto ports = ports_at({1, 0, 1});
  ports[1].rate = ports[0].rate / 2 - 1;
  CHECK(verbs::nearest_ports(ports) == std::vector{0, 2});
  ports[1].rate = ports[0].rate / 2;
  CHECK(verbs::nearest_ports(ports) == std::vector{1});
  CHECK(verbs::nearest_ports({}).empty());
}

TEST_CASE("the ranks of a host take their nearest ports in turn") {
  const auto ports = ports_at({1, 0, 0, 1, 0});
  std::vector<int> firsts;
  for (uint32_t turn = 0; turn < 5; ++turn) firsts.push_back(verbs::first_port(ports, turn));
  CHECK(firsts == std::vector{1, 2, 4, 1, 2});
  CHECK(verbs::first_port({}, 3) == -1);
}

TEST_CASE("a port meets the one of the same number") {
  const auto ports = ports_at({0, 0, 1, 1});
  const Rails rails = verbs::rails_between({0, ports, 1}, {4, ports, 0}, always);
  CHECK(rails.used == Pairs{{1, 1}, {0, 0}});
  CHECK(rails.spare.size() == 14);
}

TEST_CASE("the lower rank's first port starts") {
  const auto ports = ports_at({0, 0, 0});
  CHECK(verbs::rails_between({0, ports, 2}, {4, ports, 1}, always).used == Pairs{{2, 2}, {0, 0}, {1, 1}});
  CHECK(verbs::rails_between({4, ports, 2}, {0, ports, 1}, always).used == Pairs{{1, 1}, {2, 2}, {0, 0}});
}

TEST_CASE("nearest ports of different numbers meet if both ranks have no others") {
  const auto here = ports_at({1, 1, 0, 0});
  const auto there = ports_at({0, 0, 1, 1});
  CHECK(verbs::rails_between({0, here, 3}, {4, there, 0}, always).used == Pairs{{3, 0}, {2, 1}});
}

TEST_CASE("ports of different numbers meet if no others reach") {
  const auto ports = ports_at({0, 0});
  const auto crossed = [](const VerbsPort& a, const VerbsPort& b) { return a.rail != b.rail; };
  const Rails rails = verbs::rails_between({0, ports, 0}, {4, ports, 0}, crossed);
  CHECK(rails.used == Pairs{{0, 1}, {1, 0}});
  CHECK(rails.spare.empty());
}

TEST_CASE("a rank whose nearest port does not reach uses another") {
  auto here = ports_at({0, 1});
  auto there = ports_at({0, 1});
  here[0].infiniband = true;
  for (auto* ports : {&here, &there})
    for (VerbsPort& port : *ports) port.gids = {roce_gid(0, "10.0.0.1", 24)};
  const auto reaches = [](const auto& a, const auto& b) { return !verbs::address_pairs(a, b).empty(); };
  const Rails rails = verbs::rails_between({0, here, 0}, {4, there, 0}, reaches);
  CHECK(rails.used == Pairs{{1, 0}});
  CHECK(rails.spare == Pairs{{1, 1}});
}

TEST_CASE("if only ports of equal numbers reach, all ranks are connected, and no connection crosses rails") {
  constexpr int kPorts = 8;
  const auto same_rail = [](const VerbsPort& a, const VerbsPort& b) { return a.rail == b.rail; };
  int own_rail = 0, detours = 0;
  for (int here = 0; here < kPorts; ++here)
    for (int there = 0; there < kPorts; ++there) {
      std::vector<int> from(kPorts, 1), to(kPorts, 1);  // each rank beside a port of its own
      from[static_cast<size_t>(here)] = to[static_cast<size_t>(there)] = 0;
      const auto ports = ports_at(from), peers = ports_at(to);
      const Rails rails =
          verbs::rails_between({here, ports, here}, {kPorts + there, peers, there}, same_rail);
      REQUIRE_FALSE(rails.used.empty());
      for (const auto* pairs : {&rails.used, &rails.spare})
        for (const RailPair& pair : *pairs) REQUIRE(pair.here == pair.there);
      if (here == there) REQUIRE(rails.used == Pairs{{here, here}});
      (here == there ? own_rail : detours) += 1;
      if (here != there) REQUIRE((rails.used.front().here == here || rails.used.front().here == there));
    }
  CHECK(own_rail == kPorts);
  CHECK(detours == kPorts * (kPorts - 1));
}

TEST_CASE("both ends choose the same rails") {
  XorShift random(test_seed(8), 0);
  for (int trial = 0; trial < 5000; ++trial) {
    const RandomEnds ends(random);
    const RailEnd here = end_of(trial % 2 == 0 ? 3 : 7, ends.here, random);
    const RailEnd there = end_of(5, ends.there, random);
    const Rails own = verbs::rails_between(here, there, ends.reaches());
    Rails peers = verbs::rails_between(there, here, ends.reaches());
    swap_ends(peers);
    REQUIRE(own.used == peers.used);
    REQUIRE(own.spare == peers.spare);
  }
}

TEST_CASE("every pair that reaches is a rail or spare, once, and no port is in two rails") {
  XorShift random(test_seed(9), 0);
  for (int trial = 0; trial < 5000; ++trial) {
    const RandomEnds ends(random);
    const Rails rails =
        verbs::rails_between(end_of(0, ends.here, random), end_of(1, ends.there, random), ends.reaches());
    std::set<std::pair<int, int>> found;
    for (const auto* pairs : {&rails.used, &rails.spare})
      for (const RailPair& pair : *pairs) REQUIRE(found.insert({pair.here, pair.there}).second);
    std::set<std::pair<int, int>> expected;
    for (size_t i = 0; i < ends.here.size(); ++i)
      for (size_t j = 0; j < ends.there.size(); ++j)
        if (ends.reach(ends.here[i], ends.there[j]))
          expected.insert({static_cast<int>(i), static_cast<int>(j)});
    REQUIRE(found == expected);
    std::set<int> own;
    std::set<int> peers;
    for (const RailPair& pair : rails.used) {
      REQUIRE(own.insert(pair.here).second);
      REQUIRE(peers.insert(pair.there).second);
    }
  }
}

TEST_CASE("if nearest ports reach one another, only they are used, and all of those with equal numbers") {
  XorShift random(test_seed(10), 0);
  int met = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    const RandomEnds ends(random);
    const Rails rails =
        verbs::rails_between(end_of(0, ends.here, random), end_of(1, ends.there, random), ends.reaches());
    const auto both_nearest = [&](const RailPair& pair) {
      return is_nearest(ends.here, pair.here) && is_nearest(ends.there, pair.there);
    };
    const auto equal_numbers = [&](const RailPair& pair) {
      return ends.here[static_cast<size_t>(pair.here)].rail ==
             ends.there[static_cast<size_t>(pair.there)].rail;
    };
    const bool nearest_reach = std::any_of(rails.used.begin(), rails.used.end(), both_nearest) ||
                               std::any_of(rails.spare.begin(), rails.spare.end(), both_nearest);
    if (!nearest_reach) continue;
    REQUIRE(std::all_of(rails.used.begin(), rails.used.end(), both_nearest));
    for (const RailPair& pair : rails.spare) REQUIRE_FALSE((both_nearest(pair) && equal_numbers(pair)));
    ++met;
  }
  CHECK(met > 1000);
}

TEST_CASE("the rate of a connection is that of the ports that it uses") {
  std::vector<VerbsPort> ports = ports_at({1, 1, 1, 1, 1, 2});
  for (VerbsPort& port : ports) port.rate = 100;
  ports[1].rate = 400;
  ports[2].rate = 200;
  CHECK(rate_of_connection(ports, 0) == 600);  // the others have less than half of the fastest one's rate
  CHECK(rate_of_connection(ports, 1) == 400);
  ports[1].rate = 200;
  CHECK(rate_of_connection(ports, 0) == 600);
  CHECK(rate_of_connection(ports, 16) == 700);
  CHECK(rate_of_connection({}, 0) == 0);
}

}  // namespace rondo::test
