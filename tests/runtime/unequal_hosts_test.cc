// SPDX-License-Identifier: Apache-2.0
// What is selected on hosts with different numbers of ranks, which are dealt out to the hosts in turn.
#include "hosts_of_ranks.h"
#include "schedule/simulator.h"
#include "schedule/verifier.h"

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr size_t kLong = size_t{64} << 20;

TEST_CASE("unequal hosts use what groups can do, and calls with blocks if their sizes have a divisor") {
  for (const size_t bytes : {size_t{8}, size_t{1} << 20, kLong})
    for (const std::vector<int>& sizes : {std::vector{8, 4}, {8, 8, 4}, {6, 4}, {8, 7}, {1, 8, 8}, {8, 1}}) {
      INFO(sizes[0] << " and " << sizes[1] << " ranks, " << bytes << " bytes");
      const LinkModel links = links_of(in_turn(sizes));
      const bool one_place = sizes[0] == 1 || sizes[1] == 1;
      if (bytes == 8 || !one_place)  // one rank of a host handles all of a long vector, or all ranks do
        CHECK(choice(links, {.kind = CollectiveKind::AllReduce, .bytes = bytes}).for_groups);
      const bool divides = !one_place && sizes[1] != 7;
      CHECK(choice(links, {.kind = CollectiveKind::AllGather, .bytes = bytes}).for_groups == divides);
    }
}

TEST_CASE("on unequal hosts each rank that has a place in the smallest handles a share") {
  const std::vector<int> hosts = host_by_host({8, 7, 8});
  const LinkModel links = links_of(hosts);
  const CallForm form{.kind = CollectiveKind::AllReduce, .bytes = kLong};
  const Shape shape = form.shape(links);
  const Algorithm& row = choice(links, form);
  for (int rank = 0; rank < shape.nranks; ++rank) {
    const Schedule schedule = row.build(shape, rank);
    bool crosses = false;
    for (const auto& set : schedule.peer_sets)
      for (const int peer : set)
        crosses = crosses || hosts[static_cast<size_t>(peer)] != hosts[static_cast<size_t>(rank)];
    CHECK(schedule.chunks.parts % 7 == 0);
    CHECK(crosses == (rank != 7 && rank != 22));
  }
}

TEST_CASE("ranks that take turns at the memory nodes of consecutive hosts still scan over hosts") {
  std::vector<PeerInfo> members(16);
  std::vector<const PeerInfo*> ranks;
  for (size_t rank = 0; rank < members.size(); ++rank) {
    members[rank].endpoint.host = rank / 8;
    members[rank].memory_node = static_cast<int>(rank % 2);
    members[rank].allowed_cpus = 8;
    ranks.push_back(&members[rank]);
  }
  const auto scans_over_hosts = [&] {
    const LinkModel links = CommTopology(ranks, 0, nullptr).links({});
    CHECK_FALSE(links.order.empty());
    const CallForm form{.kind = CollectiveKind::Scan, .bytes = 8};
    return choice(links, form).for_groups;
  };
  CHECK(scans_over_hosts());
  for (size_t rank = 0; rank < members.size(); ++rank) members[rank].endpoint.host = rank % 2;
  CHECK_FALSE(scans_over_hosts());
}

TEST_CASE("over an interface that the ranks of a host share, long calls do not go from all to all") {
  LinkModel links = links_of(in_turn({4, 3}));
  const auto goes_to_all = [&](CollectiveKind kind, size_t bytes) {
    return choice(links, {.kind = kind, .bytes = bytes}).connects_all;
  };
  for (const bool shared : {false, true}) {
    if (shared) links.sharing = ranks_that_share({4, 3});
    for (const CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
      CHECK(goes_to_all(kind, kLong) == (!shared && kind != CollectiveKind::AllReduce));
      CHECK(goes_to_all(kind, 8));
    }
  }
}

/// Hosts of these sizes, of which a byte takes that much longer on the way to another than within one.
LinkModel links_where_bytes_take(double far_per_near, const std::vector<int>& sizes) {
  constexpr LinkCost kNear{.latency_us = 5, .us_per_byte = 1e-4};
  LinkModel links = links_of(host_by_host(sizes));
  links.within_hosts = kNear;
  std::ranges::fill(links.inner_costs, kNear);
  links.cost = kNear;
  links.cost.us_per_byte *= far_per_near;
  return links;
}

/// The simulated time of a long all_reduce there, each rank having a port within its host and one to others.
double simulated_us(const Algorithm& row, const Shape& shape, const LinkModel& links,
                    const std::vector<int>& sizes) {
  const std::vector<int> hosts = host_by_host(sizes);
  SimulatedNetwork network{.latency_s = links.cost.latency_us * 1e-6};
  for (int port = 0; port < 4 * shape.nranks; ++port)
    network.links.push_back(1e6 / (port % 4 < 2 ? links.within_hosts : links.cost).us_per_byte);
  network.route = [&](int from, int to, int) -> std::vector<SimulatedLinkUse> {
    const int far = hosts[static_cast<size_t>(from)] == hosts[static_cast<size_t>(to)] ? 0 : 2;
    return {{4 * from + far}, {4 * to + far + 1}};
  };
  std::vector<Schedule> ranks;
  for (int rank = 0; rank < shape.nranks; ++rank) ranks.push_back(row.build(shape, rank));
  const auto seconds = simulate(shape, ranks, static_cast<double>(kLong), 16, network);
  REQUIRE(seconds.ok());
  return seconds.value() * 1e6;
}

TEST_CASE(
    "a long all_reduce on unequal hosts is nearly the fastest that there is, however fast the network is") {
  for (const double far_per_near : {1, 2, 4, 8})
    for (const std::vector<int>& sizes : {std::vector{8, 1}, {8, 8, 4}, {4, 3}, {8, 4}, {8, 7}, {3, 2}}) {
      const LinkModel links = links_where_bytes_take(far_per_near, sizes);
      const CallForm form{.kind = CollectiveKind::AllReduce, .bytes = kLong};
      const Shape shape = form.shape(links);
      const Algorithm& chosen = choice(links, form);
      const double us = simulated_us(chosen, shape, links, sizes);
      for (const Algorithm& row : algorithms()) {
        if (row.kind != form.kind || !row.supports(shape)) continue;
        INFO(sizes[0] << " and " << sizes[1] << " ranks, bytes take " << far_per_near
                      << " times as long: " << chosen.name << ", and " << row.name);
        CHECK(us <= 1.25 * simulated_us(row, shape, links, sizes));
      }
    }
}

TEST_CASE("hosts are groups of an all_reduce only where bytes between them take longer") {
  for (const std::vector<int>& sizes : {std::vector{8, 8, 4}, {4, 3}, {8, 7}}) {
    const CallForm form{.kind = CollectiveKind::AllReduce, .bytes = kLong};
    CHECK_FALSE(choice(links_where_bytes_take(1, sizes), form).for_groups);
    CHECK(choice(links_where_bytes_take(4, sizes), form).for_groups);
  }
  // The only rank of a host has to send the vector, and to receive it, and no rank of the other more.
  const CallForm form{.kind = CollectiveKind::AllReduce, .bytes = kLong};
  CHECK(std::string(choice(links_where_bytes_take(8, {8, 1}), form).name) == "double_binary_tree");
}

TEST_CASE("on unequal hosts no call is refused, and what is selected verifies") {
  for (const std::vector<int>& sizes :
       {std::vector{8, 1}, {8, 4}, {8, 8, 4}, {3, 2}, {1, 6, 9}, {6, 2, 2, 1}}) {
    const LinkModel links = links_of(in_turn(sizes));
    for (const CallForm& form : forms_of(kAllCollectives, {8, size_t{1} << 20, kLong})) {
      INFO(links.nranks << " ranks, " << text_of(form));
      const Algorithm& row = choice(links, form);
      const Shape shape = form.shape(links);
      std::vector<Schedule> ranks;
      for (int rank = 0; rank < links.nranks; ++rank) ranks.push_back(row.build(shape, rank));
      const Status status = verify(shape, ranks, {.association = row.association});
      INFO(row.name << ": " << status.message());
      REQUIRE(status.ok());
    }
  }
}

}  // namespace
