// SPDX-License-Identifier: Apache-2.0
// A rank is stopped with SIGSTOP: it does not die, but never answers. At the deadline of their call all other
// ranks name it, including those that wait for it only indirectly.
#include <signal.h>

#include <cstdlib>
#include <vector>

#include "catch.h"
#include "fault_world.h"

namespace rondo::test {

TEST_CASE("a stopped rank is named at the deadline by all ranks that wait for it") {
  // In the double binary tree, ranks wait for several others at once.
  const char* algorithm = GENERATE("", "all_reduce=double_binary_tree", "all_reduce=recursive_doubling");
  const char* const only = std::getenv("RONDO_TEST_TRANSPORT");
  const auto transports =
      only == nullptr ? std::vector<std::string>{"shm", "tcp"} : std::vector<std::string>{only};
  for (const std::string& transport : transports) {
    FaultOptions options;
    options.nranks = 5;
    options.transport = transport;
    options.algorithm = algorithm;
    options.victim = 3;
    options.call_timeout_ms = 1500;
    options.calls = 1'000'000;
    FaultWorld world(options);
    INFO(transport << ", " << algorithm);
    REQUIRE(world.wait_for(options.victim, Phase::Calling, 30));
    ::kill(world.pid(options.victim), SIGSTOP);
    const double stopped_s = seconds_now();
    const bool all_ended = world.reap_survivors(10);
    for (int rank = 0; rank < options.nranks; ++rank) {
      if (rank == options.victim) continue;
      const Report& report = world.report(rank);
      INFO("rank " << rank << ": " << report.error.data());
      REQUIRE(report.failed);
      REQUIRE(std::string(report.error.data()).find("rank 3") != std::string::npos);
      REQUIRE(std::string(report.error.data()).find("did not answer") != std::string::npos);
      REQUIRE(report.ended_s - stopped_s < 1.5 + 2.5);
    }
    REQUIRE(all_ended);
    world.end_victim();
  }
}

}  // namespace rondo::test
