// SPDX-License-Identifier: Apache-2.0
// What is selected on hosts with different numbers of ranks, which are dealt out to the hosts in turn.
#include "hosts_of_ranks.h"
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
