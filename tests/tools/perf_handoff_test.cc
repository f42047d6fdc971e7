// SPDX-License-Identifier: Apache-2.0
// The probe of the machine's state.
#include "catch.h"
#include "handoff.h"

using namespace rondo::perf;

TEST_CASE("The probed CPUs are those of two ranks, or else any two") {
  const auto chosen = [](const std::vector<int>& of_ranks, const std::vector<int>& allowed) {
    const auto pair = choose_pair(of_ranks, allowed);
    return pair ? std::vector<int>{pair->first, pair->second} : std::vector<int>{};
  };
  REQUIRE(chosen({3, 3, 5, 7}, {0, 1, 2, 3}) == std::vector<int>{3, 5});
  REQUIRE(chosen({3, 3}, {0, 3}) == std::vector<int>{3, 0});
  REQUIRE(chosen({3, 3}, {3}).empty());
  REQUIRE(chosen({}, {}).empty());
}

TEST_CASE("Passing a cache line between two CPUs takes time, and there is no figure for one CPU") {
  REQUIRE(!measure_handoff({0, 0}));
  REQUIRE(!measure_handoff({0, 1023}));
  const std::vector<int> cpus = allowed_cpus();
  REQUIRE(!cpus.empty());
  const auto pair = choose_pair(cpus, cpus);
  if (!pair) return;
  if (const auto ns = measure_handoff(*pair)) {  // otherwise the CPUs are busy
    REQUIRE(*ns > 1);
    REQUIRE(describe_handoff(pair, ns).find(" ns one way between CPUs ") != std::string::npos);
  }
  REQUIRE(allowed_cpus() == cpus);
}

TEST_CASE("A missing probe is explained") {
  REQUIRE(describe_handoff(std::nullopt, std::nullopt) == "nothing to probe, there is one CPU");
  REQUIRE(describe_handoff(CpuPair{2, 4}, std::nullopt) == "unknown, CPUs 2 and 4 are busy or not allowed");
  REQUIRE(describe_handoff(CpuPair{2, 4}, 34.12) == "34.1 ns one way between CPUs 2 and 4");
}
