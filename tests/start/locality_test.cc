// SPDX-License-Identifier: Apache-2.0
// Which ranks count as local to one another.
#include "plan/comm_topology.h"

#include <map>
#include <utility>

#include "catch.h"

using namespace rondo;

namespace {

PeerInfo member_on(uint64_t host, int32_t first_cpu) {
  PeerInfo member;
  member.endpoint.host = host;
  member.first_cpu = first_cpu;
  return member;
}

PeerInfo by_cache(int32_t cache) {
  PeerInfo member;
  member.cache = cache;
  return member;
}

std::vector<const PeerInfo*> pointers(const std::vector<PeerInfo>& members) {
  std::vector<const PeerInfo*> ranks;
  for (const PeerInfo& member : members) ranks.push_back(&member);
  return ranks;
}

std::vector<int> order_of(const std::vector<PeerInfo>& members) {
  return order_by_locality(pointers(members));
}

/// The size of near_groups() of ranks on the given hosts, and of ranks of one host with the given caches.
NearGroups groups_on(const std::vector<uint64_t>& hosts) {
  std::vector<PeerInfo> members;
  for (const uint64_t host : hosts) members.push_back(member_on(host, 0));
  return near_groups(pointers(members));
}
int on_hosts(const std::vector<uint64_t>& hosts) { return groups_on(hosts).levels.outermost(); }
int with_caches(const std::vector<int32_t>& caches) {
  std::vector<PeerInfo> members;
  for (const int32_t cache : caches) members.push_back(by_cache(cache));
  return near_groups(pointers(members)).levels.outermost();
}

TEST_CASE("ranks of a host are adjacent, in the order of the hosts' first ranks") {
  CHECK(order_of({member_on(9, 0), member_on(4, 0), member_on(9, 0), member_on(4, 0), member_on(7, 0)}) ==
        std::vector<int>{0, 2, 1, 3, 4});
}

TEST_CASE("ranks of a host with the same first CPU are adjacent") {
  CHECK(order_of({member_on(1, 0), member_on(1, 1), member_on(1, 0), member_on(1, 1)}) ==
        std::vector<int>{0, 2, 1, 3});
  CHECK(order_of({member_on(2, 1), member_on(1, 0), member_on(2, 0), member_on(1, 0)}) ==
        std::vector<int>{2, 0, 1, 3});
}

TEST_CASE("ranks that nothing distinguishes keep their order") {
  CHECK(order_of({}).empty());
  CHECK(order_of({member_on(1, 0), member_on(1, 0), member_on(1, 0)}) == std::vector<int>{0, 1, 2});
}

TEST_CASE("hosts with equal numbers of consecutive ranks are groups") {
  CHECK(on_hosts({7, 7, 3, 3}) == 2);
  CHECK(on_hosts({5, 5, 5, 2, 2, 2, 9, 9, 9}) == 3);
}

TEST_CASE("ranks of one host that share caches are groups, if all caches are known") {
  CHECK(with_caches({0, 0, 4, 4}) == 2);
  CHECK(with_caches({0, 0, 0, 0}) == 1);
  CHECK(with_caches({0, 0, -1, -1}) == 1);
  CHECK(with_caches({-1, -1, -1, -1}) == 1);
}

TEST_CASE("ranks that lie round-robin over hosts, or in any order, are groups") {
  CHECK(groups_on({7, 7, 3, 3}).order.empty());
  CHECK(on_hosts({1, 2, 1, 2}) == 2);
  CHECK(groups_on({1, 2, 1, 2}).order == std::vector{0, 2, 1, 3});
  CHECK(groups_on({9, 4, 4, 9, 7, 7}).order == std::vector{0, 3, 1, 2, 4, 5});
  CHECK(with_caches({0, 4, 0, 4}) == 2);
}

TEST_CASE("groups are in hosts, or reach over some, whatever their size") {
  const std::vector<PeerInfo> in_turn = {member_on(1, 0), member_on(2, 0), member_on(1, 0), member_on(2, 0)};
  const std::vector<PeerInfo> unequal = {member_on(1, 0), member_on(1, 0), member_on(1, 0), member_on(2, 0)};
  CHECK(are_in_hosts(pointers(in_turn), {}, 1));
  CHECK_FALSE(are_in_hosts(pointers(in_turn), {}, 2));
  CHECK(are_in_hosts(pointers(in_turn), {0, 2, 1, 3}, 2));
  CHECK_FALSE(are_in_hosts(pointers(in_turn), {0, 2, 1, 3}, 4));
  CHECK_FALSE(are_in_hosts(pointers(unequal), {}, 2));
}

TEST_CASE("single hosts, and hosts whose sizes have no common divisor, are no groups") {
  CHECK(on_hosts({1}) == 1);
  CHECK(on_hosts({1, 1, 1}) == 1);
  CHECK(on_hosts({1, 2, 3}) == 1);
  CHECK(on_hosts({1, 1, 2}) == 1);
  CHECK(on_hosts({1, 2, 2}) == 1);
  CHECK(on_hosts({1, 1, 1, 2, 2}) == 1);
}

/// As many ranks on each host as given, consecutive or dealt out to the hosts in turn.
std::vector<PeerInfo> on_unequal_hosts(std::vector<int> sizes, bool in_turn) {
  std::vector<PeerInfo> members;
  for (size_t host = 0; !in_turn && host < sizes.size(); ++host)
    members.insert(members.end(), static_cast<size_t>(sizes[host]), member_on(host, 0));
  for (bool more = in_turn; std::exchange(more, false);)
    for (size_t host = 0; host < sizes.size(); ++host)
      if (sizes[host]-- > 0) more = (members.push_back(member_on(host, 0)), true);
  return members;
}

TEST_CASE("unequal hosts are divided into the largest equal groups that they allow") {
  struct Case {
    std::vector<int> sizes;
    int group;
  };
  for (const auto& [sizes, group] : {Case{{8, 4}, 4}, {{4, 8}, 4}, {{8, 8, 4}, 4}, {{6, 4}, 2}, {{8, 1}, 1}})
    for (const bool in_turn : {false, true}) {
      const std::vector<PeerInfo> members = on_unequal_hosts(sizes, in_turn);
      const NearGroups near = near_groups(pointers(members));
      CHECK(near.levels == Levels(group));
      CHECK(are_in_hosts(pointers(members), near.order, group));
      CHECK(near.order.empty() != in_turn);
    }
}

TEST_CASE("memory nodes and parts of hosts are levels, but no part of a memory node is") {
  std::vector<PeerInfo> members = on_unequal_hosts({8, 4}, true);
  std::map<uint64_t, int> ranks;
  for (PeerInfo& member : members) member.memory_node = ranks[member.endpoint.host]++ % 4 / 2;
  CHECK(near_groups(pointers(members)).levels == Levels(4));  // nodes of 4, 4, 2 and 2
  ranks.clear();
  for (PeerInfo& member : members) member.memory_node = ranks[member.endpoint.host]++ / 2;
  CHECK(near_groups(pointers(members)).levels == Levels{2, 4});
}

TEST_CASE("the ranks of a host follow one another in the order, whatever the sizes of hosts") {
  for (const std::vector<int>& sizes : {std::vector{8, 1}, {3, 5}, {8, 7, 2}, {8, 8, 4}, {1, 1, 6, 9}}) {
    const std::vector<PeerInfo> members = on_unequal_hosts(sizes, true);
    const std::vector<int> order = near_groups(pointers(members)).order;
    REQUIRE(order.size() == members.size());
    size_t crossings = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const auto host = [&](size_t at) { return members[static_cast<size_t>(order[at])].endpoint.host; };
      crossings += host(i) != host((i + 1) % order.size()) ? 1 : 0;
    }
    CHECK(crossings == sizes.size());
  }
}

TEST_CASE("a rank's turn counts those before it on its host and memory node") {
  std::vector<PeerInfo> members(5);
  for (size_t i = 0; i < members.size(); ++i) {
    members[i].endpoint.host = i == 2 ? 8 : 7;
    members[i].memory_node = i == 1 ? 1 : 0;
  }
  std::vector<uint32_t> turns;
  for (; !members.empty(); members.pop_back()) turns.push_back(turn_of_last(pointers(members)));
  CHECK(turns == std::vector<uint32_t>{2, 1, 0, 0, 0});
}

TEST_CASE("connections between ranks are as fast as the slowest rank's, if all rates are known") {
  const Transport* const row = std::find_if(transports().data(), transports().data() + transports().size(),
                                            [](const Transport& one) { return one.fabrics != nullptr; });
  std::vector<PeerInfo> members(3);
  for (PeerInfo& member : members) member.endpoint.fabrics.rates_Gbps[0] = 200;
  members[1].endpoint.fabrics.rates_Gbps[0] = 50;
  CHECK(slowest_rate_Gbps(*row, pointers(members)) == 50);
  members[2].endpoint.fabrics.rates_Gbps[0] = 0;
  CHECK(slowest_rate_Gbps(*row, pointers(members)) == 0);
  CHECK(slowest_rate_Gbps(*transport_by_name("tcp").value(), pointers(members)) == 0);
}

TEST_CASE("what all ranks of a host send to all others shares its interface, as far as it leaves the host") {
  CHECK(ranks_that_share({5}) == 1);
  CHECK(ranks_that_share({1, 1, 1}) == 1);
  CHECK(ranks_that_share({4, 3}) == 4 * 3 / 6.0);
  CHECK(ranks_that_share({8, 1}) == 1);  // each sends an eighth of what it sends
  CHECK(ranks_that_share({1, 8, 8}) == 8 * 9 / 16.0);
}

TEST_CASE("caches do not matter if there are several hosts") {
  std::vector<PeerInfo> members(4);
  for (size_t i = 0; i < members.size(); ++i) {
    members[i].endpoint.host = i / 2;
    members[i].cache = static_cast<int32_t>(i);
  }
  CHECK(near_groups(pointers(members)).levels == Levels(2));
}

TEST_CASE("caches, memory nodes and hosts are levels, wherever their ranks' numbers are") {
  // 2 hosts of 2 nodes of 2 caches of 2 ranks, the ranks dealt out to all caches in turn.
  std::vector<PeerInfo> members(16);
  for (int i = 0; i < 16; ++i) {
    PeerInfo& member = members[static_cast<size_t>(i)];
    member.endpoint.host = i % 2 == 0 ? 9 : 4;
    member.memory_node = i / 2 % 2;
    member.cache = member.memory_node * 2 + i / 4 % 2;
  }
  const NearGroups near = near_groups(pointers(members));
  CHECK(near.levels == Levels{2, 4, 8});
  CHECK(near.order == std::vector{0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15});
  members[0].memory_node = -1;
  CHECK(near_groups(pointers(members)).levels.outermost() == 8);
  CHECK(near_groups(pointers(members)).levels.count() == 1);
}

}  // namespace
