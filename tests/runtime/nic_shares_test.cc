// SPDX-License-Identifier: Apache-2.0
// How much of a vector each rank of a host carries between hosts, by the ports that are near it.
#include "plan/nic_shares.h"

#include <bit>
#include <numeric>

#include "hosts_of_ranks.h"
#include "seed.h"
#include "xorshift.h"

using namespace rondo;
using namespace rondo::test;

namespace {

using Host = std::vector<RankPorts>;

/// Of a rank near the ports in a mask, each of that rate.
RankPorts near(uint32_t rails, uint32_t rate_Gbps = 200) {
  return {{rails, rate_Gbps}, static_cast<double>(rate_Gbps) * std::min(4, std::popcount(rails))};
}
Host host_of(const std::vector<uint32_t>& rails) {
  Host host;
  for (const uint32_t of_rank : rails) host.push_back(near(of_rank));
  return host;
}

/// Messages within hosts are free.
constexpr ShareCosts kFastHosts{.us_per_byte_between = 1, .us_per_byte_within = 0};

std::vector<int> weights_of(const std::vector<Host>& hosts) {
  return nic_shares(hosts, kFastHosts, true).weights;
}
std::vector<int> weights_of_two(const std::vector<uint32_t>& rails) {
  return weights_of({host_of(rails), host_of(rails)});
}

/// The part of a vector for each Gbit/s of the busiest port or rank.
double busiest(const std::vector<Host>& hosts, const std::vector<int>& weights) {
  double most = 0;
  for (const Host& host : hosts)
    for (unsigned port = 0; port < NearPorts::kMax; ++port) {
      double load = 0, rate = 0;
      for (size_t place = 0; place < weights.size(); ++place) {
        const auto& [rails, of_port] = host[place].ports;
        if ((rails >> port & 1) == 0) continue;
        load += static_cast<double>(weights[place]) / std::popcount(rails);
        rate = std::max(rate, static_cast<double>(of_port));
      }
      if (load > 0) most = std::max(most, load / rate);
    }
  for (const Host& host : hosts)
    for (size_t place = 0; place < weights.size(); ++place)
      most = std::max(most, weights[place] / host[place].rate_Gbps);
  return most / std::accumulate(weights.begin(), weights.end(), 0.0);
}

/// Two hosts of ranks with these ports, where nothing but bytes takes time.
LinkModel links_of_two(const std::vector<uint32_t>& rails, double within_us_per_byte = 0) {
  const LinkCost within{.latency_us = 0, .us_per_byte = within_us_per_byte};
  const auto places = static_cast<int>(rails.size());
  LinkModel links = links_of(host_by_host({places, places}));
  links.cost = {.latency_us = 0, .us_per_byte = 1 / 25e3};  // 200 Gbit/s
  links.inner_costs = {within};
  links.within_hosts = within;
  const std::vector hosts = {host_of(rails), host_of(rails)};
  links.shares = nic_shares(hosts, {links.cost.us_per_byte, within.us_per_byte}, true);
  return links;
}

Call long_call(CollectiveKind kind, bool on_gpu = true) {
  Call call = CallForm{.kind = kind, .bytes = size_t{1} << 30}.call();
  call.place.on_gpu = on_gpu;
  return call;
}

}  // namespace

TEST_CASE("shares are equal where every rank has as much of the NICs") {
  CHECK(weights_of_two({1, 2, 4, 8}).empty());
  CHECK(weights_of_two({1, 1, 2, 2, 4, 4, 8, 8}).empty());
  CHECK(weights_of_two({3, 3, 12, 12}).empty());
  CHECK(weights_of_two({15, 15, 15}).empty());
  CHECK(weights_of_two({1, 1, 1}).empty());
  CHECK(weights_of_two({1}).empty());
}

TEST_CASE("ranks that share a NIC, have a slower one or fewer carry less") {
  CHECK(weights_of_two({1, 1, 2}) == std::vector{1, 1, 2});
  CHECK(weights_of_two({1, 2, 2, 2}) == std::vector{3, 1, 1, 1});
  CHECK(weights_of_two({1, 6}) == std::vector{1, 2});
  CHECK(weights_of_two({1, 1, 2, 4, 4, 4}) == std::vector{3, 3, 6, 2, 2, 2});
  const Host unequal = {near(1, 400), near(2, 100), near(4, 200)};
  CHECK(weights_of({unequal, unequal}) == std::vector{4, 1, 2});
  // A rank with a slow and a fast port sends as much over each, so the fast one is free for the other rank.
  const Host overlapping = {near(1, 400), near(3, 200)};
  CHECK(weights_of({overlapping, overlapping}) == std::vector{1, 2});
}

TEST_CASE("a share is as large as the host with the fewest NICs for it allows") {
  CHECK(weights_of({host_of({1, 1, 2}), host_of({1, 1, 2}), host_of({1, 2, 4})}) == std::vector{1, 1, 2});
  // Each of these shares is held up on one of the hosts.
  CHECK(weights_of({host_of({1, 1, 2}), host_of({1, 2, 2})}).empty());
  // Of the larger host, only the first two ranks carry anything.
  CHECK(weights_of({host_of({1, 6}), host_of({1, 6, 6})}) == std::vector{1, 2});
}

TEST_CASE("where a rank's ports are not known, shares are equal") {
  std::vector<Host> hosts = {host_of({1, 1, 2}), host_of({1, 1, 2})};
  const auto is_unknown = [&] {
    const NicShares shares = nic_shares(hosts, kFastHosts, true);
    return shares.weights.empty() && shares.factor == 1 && !shares.serve(true);
  };
  CHECK_FALSE(is_unknown());
  for (const RankPorts& unknown :
       {RankPorts{{0, 200}, 200}, RankPorts{{1, 0}, 200}, RankPorts{{1, 200}, 0}}) {
    hosts[1][0] = unknown;
    CHECK(is_unknown());
  }
}

TEST_CASE("weights are never slower than equal shares, and at most 8") {
  XorShift random(test_seed(1), 0);
  int weighted = 0;
  for (int trial = 0; trial < 2'000; ++trial) {
    const size_t places = 1 + random.next() % 10;
    std::vector<Host> hosts(2 + random.next() % 3);
    for (Host& host : hosts)
      for (size_t rank = 0; rank < places + random.next() % 2; ++rank) {
        const uint32_t rates[] = {100, 200, 400};
        host.push_back(near(1 + static_cast<uint32_t>(random.next() % 15), rates[random.next() % 3]));
      }
    size_t common = places + 1;
    for (const Host& host : hosts) common = std::min(common, host.size());
    const NicShares shares = nic_shares(hosts, kFastHosts, true);
    if (shares.weights.empty()) continue;
    ++weighted;
    REQUIRE(shares.weights.size() == common);
    for (const int weight : shares.weights) REQUIRE((weight >= 1 && weight <= 8));
    REQUIRE(busiest(hosts, shares.weights) < busiest(hosts, std::vector(common, 1)));
    REQUIRE(shares.serve_gpus);
  }
  CHECK(weighted > 500);
}

TEST_CASE(
    "on GPUs 0 to 2 of hosts with a NIC for two of them, weights take 3/4 of the time of equal shares") {
  for (const CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    INFO(collective_name(kind));
    const Algorithm& row = *algorithm_by_name(kind, "hierarchical_ring").value();
    const Call call = long_call(kind);
    LinkModel links = links_of_two({1, 1, 2});
    const auto us = [&] {
      const Shape shape = links.shape(call);
      return predict_over_connections(row, call, shape, links, size_t{1} << 20).us;
    };
    const double weighted = us();
    links.shares.serve_gpus = false;
    CHECK(weighted / us() == Approx(0.75).epsilon(0.001));
  }
  const std::vector<Host> hosts(2, host_of({1, 1, 2}));
  constexpr double kGbit = 8.0 * (1 << 30) / 1e9, kMs = 1e3;
  CHECK(busiest(hosts, {1, 1, 1}) * kGbit * kMs == Approx(28.6).epsilon(0.01));
  CHECK(busiest(hosts, {1, 1, 2}) * kGbit * kMs == Approx(21.5).epsilon(0.01));
}

TEST_CASE("what is chosen for a long call carries weights, if it goes by shares") {
  const LinkModel links = links_of_two({1, 1, 2});
  for (const CollectiveKind kind : kAllCollectives) {
    if (kind == CollectiveKind::Barrier) continue;
    INFO(collective_name(kind));
    const CallForm form{.kind = kind, .bytes = size_t{1} << 30};
    const Shape shape = form.shape(links);
    const bool has_shares =
        kind != CollectiveKind::AllToAll && kind != CollectiveKind::Gather && kind != CollectiveKind::Scatter;
    CHECK(choice(links, form).has_shares(shape) == has_shares);
  }
}

TEST_CASE("barriers, and blocks of unequal hosts, have no weights") {
  LinkModel links = links_of_two({1, 1, 2});
  Call barrier = long_call(CollectiveKind::Barrier);
  barrier.count = 0;
  CHECK(links.shape(barrier).weights.empty());
  CHECK(links.shape(long_call(CollectiveKind::AllGather)).weights.size() == 3);
  const NicShares shares = links.shares;
  links = links_of(host_by_host({6, 3}));
  links.shares = shares;
  CHECK(links.shape(long_call(CollectiveKind::AllGather)).weights.empty());
  CHECK(links.shape(long_call(CollectiveKind::AllReduce)).weights.size() == 3);
}

TEST_CASE("in memory of the host, shares are equal unless messages between hosts are what takes longest") {
  constexpr double kSlow = 1 / 5e3, kFast = 1 / 100e3;
  const Call call = long_call(CollectiveKind::AllReduce, false);
  CHECK(links_of_two({1, 1, 2}, kSlow).shape(call).weights.empty());
  CHECK(links_of_two({1, 1, 2}, kFast).shape(call).weights.size() == 3);
  CHECK(links_of_two({1, 1, 2}, kSlow).shape(long_call(CollectiveKind::AllReduce)).weights.size() == 3);
}

TEST_CASE("plans of different weights have different hashes, and only those of algorithms with shares") {
  const LinkModel links = links_of_two({1, 1, 2});
  const Call call = long_call(CollectiveKind::AllReduce);
  const Shape weighted = links.shape(call);
  Shape equal = weighted;
  equal.weights = {};
  for (const Algorithm& row : algorithms()) {
    if (row.kind != CollectiveKind::AllReduce || !row.supports(equal)) continue;
    INFO(row.name);
    const auto hash = [&](const Shape& shape) { return cut(row, call, shape, 1 << 20).take().hash; };
    CHECK((hash(weighted) != hash(equal)) == row.has_shares(weighted));
  }
}

namespace {

/// Ranks of two hosts, in turn or one host after the other, that a network with ports joins: of three ranks
/// of each, two are near one port.
class Members {
 public:
  explicit Members(bool in_turn) {
    for (int rank = 0; rank < 6; ++rank) {
      const int host = in_turn ? rank % 2 : rank / 3, place = in_turn ? rank / 2 : rank % 3;
      PeerInfo member;
      member.endpoint = {static_cast<uint64_t>(host), static_cast<uint64_t>(rank)};
      member.device.ordinal = place;
      Fabrics& fabrics = member.endpoint.fabrics;
      fabrics.bits = ~uint64_t{0};
      fabrics.rates_Gbps.fill(100);
      fabrics.ports.fill({.rails = place < 2 ? 1U : 2U, .rate_Gbps = 100});
      members_.push_back(member);
    }
  }

  PeerInfo& operator[](size_t rank) { return members_[rank]; }
  LinkModel links(uint64_t here, const std::optional<Levels>& requested = {}) const {
    std::vector<const PeerInfo*> ranks;
    for (const PeerInfo& member : members_) ranks.push_back(&member);
    return CommTopology(ranks, here, nullptr).links(requested);
  }

 private:
  std::vector<PeerInfo> members_;
};

}  // namespace

TEST_CASE("ranks of all hosts derive the same weights from what each says of its ports, wherever they are") {
  for (const bool is_in_turn : {false, true})
    for (const uint64_t here : {0, 1}) {
      const LinkModel links = Members(is_in_turn).links(here);
      CHECK(links.shares.weights == std::vector{1, 1, 2});
      CHECK(links.shape(long_call(CollectiveKind::AllReduce)).weights.size() == 3);
    }
}

TEST_CASE("shares are equal over TCP, with requested groups, and if a rank says nothing of its ports") {
  const auto are_equal = [](const LinkModel& links) {
    return links.shares.factor == 1 && links.shape(long_call(CollectiveKind::AllReduce)).weights.empty();
  };
  Members members(false);
  CHECK_FALSE(are_equal(members.links(0)));
  CHECK(are_equal(members.links(0, Levels(3))));
  members[4].endpoint.fabrics.ports = {};
  CHECK(are_equal(members.links(0)));
  members[4] = members[3];
  members[4].endpoint.fabrics.bits = 0;
  CHECK(are_equal(members.links(0)));
}

TEST_CASE("GPUs that NVLink does not join, and ranks without GPUs, have equal shares of what is on GPUs") {
  Members members(false);
  members[1].device.host = 42;
  CHECK(members.links(0).shape(long_call(CollectiveKind::AllReduce)).weights.empty());
  members[1].device = {};
  CHECK(members.links(0).shape(long_call(CollectiveKind::AllReduce)).weights.empty());
}
