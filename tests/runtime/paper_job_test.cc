// SPDX-License-Identifier: Apache-2.0
// What ranks that need not exist could choose from.
#include "plan/paper_job.h"

#include "catch.h"

using namespace rondo;

namespace {

HostExecutors executors_of(const PaperJob& job) {
  const std::vector<PeerInfo> peers = peers_of(job);
  std::vector<const PeerInfo*> members;
  for (const PeerInfo& peer : peers) members.push_back(&peer);
  return host_executors(CommTopology(members, peers[0].endpoint.host, nullptr), std::nullopt, 0, -1);
}

TEST_CASE("ranks of one host share memory, and its CPUs") {
  for (const int cpus : {1, 2, 8, 64}) {
    CAPTURE(cpus);
    const HostExecutors made = executors_of({.nranks = 8, .cpus = cpus});
    REQUIRE(made.rows.size() == 2);
    CHECK(made.rows[0].name == std::string("shm_pull"));
    CHECK(made.rows[1].name == std::string("connections"));
    CHECK(made.links.hosts == 1);
    CHECK(made.links.levels.empty());
    CHECK(made.links.cost.ranks_per_cpu == std::max(1.0, 8.0 / cpus));
  }
}

TEST_CASE("ranks of several hosts are connected by a network, and each host is a group") {
  const HostExecutors made = executors_of({.nranks = 12, .hosts = 3, .cpus = 4});
  REQUIRE(made.rows.size() == 1);
  CHECK(made.rows[0].name == std::string("connections"));
  CHECK(made.links.hosts == 3);
  REQUIRE(made.links.levels.count() == 1);
  CHECK(made.links.levels.size(0) == 4);
  CHECK(made.links.cost.latency_us > made.links.inner_costs[0].latency_us);
}

TEST_CASE("one rank has nothing to read from others") {
  CHECK(executors_of({.nranks = 1, .cpus = 1}).rows.size() == 1);
}

TEST_CASE("without a number of CPUs those of the calling thread count") {
  const std::vector<PeerInfo> peers = peers_of({.nranks = 2});
  REQUIRE(peers.size() == 2);
  CHECK(peers[0].allowed_cpus >= 1);
  CHECK(peers[0].allowed_cpus == peers[1].allowed_cpus);
  CHECK_FALSE(peers[0].endpoint == peers[1].endpoint);
}

}  // namespace
