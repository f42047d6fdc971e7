// SPDX-License-Identifier: Apache-2.0
// HostInfo as plain data: conversion to and from text, restriction, placing ranks.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "catch.h"
#include "topology/host.h"

using namespace rondo;

namespace {

HostInfo synthetic(const std::string& description) {
  auto host = host_from_synthetic(description);
  REQUIRE(host.status().message() == "");
  return host.take();
}

const std::vector<std::string> kMachines = {
    "pu:1",
    "core:2 pu:2",
    "numa:2 l3:1 core:8 pu:2",
    "pack:2 numa:2 l3:2 l2:3 core:2 pu:1",
    "pack:3 core:5 pu:4",
};

std::map<int, Cpu> by_id(const HostInfo& host) {
  std::map<int, Cpu> cpus;
  for (const Cpu& cpu : host.cpus) cpus[cpu.id] = cpu;
  return cpus;
}

}  // namespace

TEST_CASE("a host converted to text and back is unchanged") {
  for (const std::string& machine : kMachines) {
    CAPTURE(machine);
    HostInfo host = synthetic(machine);
    host.cpu_quota = 1.5;
    host.memory_bytes = uint64_t{1} << 40;
    const auto back = host_from_text(to_text(host));
    REQUIRE(back.ok());
    CHECK(back.value() == host);
  }
}

TEST_CASE("text that is not a host is refused with the word that is wrong") {
  CHECK(host_from_text("").status().code() == Code::InvalidArgument);
  CHECK(host_from_text("rondo-host-9 1 0 0").status().message().find("rondo-host-9") != std::string::npos);
  CHECK(host_from_text("rondo-host-1 1 x 0").status().code() == Code::InvalidArgument);
  CHECK(host_from_text("rondo-host-1 1 0 0 3:1:0:0").status().message().find("3:1:0:0") != std::string::npos);
  CHECK(host_from_text("rondo-host-1 1 0 0 3:1:0:0:0x").status().code() == Code::InvalidArgument);
}

TEST_CASE("the quota limits concurrency, but never the set of CPUs") {
  HostInfo host = synthetic("core:8 pu:2");
  CHECK(host.cores() == 8);
  CHECK(host.concurrency() == 16);
  host.cpu_quota = 2.5;
  CHECK(host.concurrency() == 3);
  host.cpu_quota = 64;
  CHECK(host.concurrency() == 16);
}

TEST_CASE("one thread of every core comes before any core's second thread") {
  for (const std::string& machine : kMachines) {
    CAPTURE(machine);
    const HostInfo host = synthetic(machine);
    std::map<int, int> seen;
    int turn = 0;
    for (const Cpu& cpu : host.cpus) {
      const int mine = seen[cpu.core]++;
      CHECK(mine >= turn);
      turn = mine;
    }
  }
}

TEST_CASE("ranks are spread evenly over all cores, consecutive ones on the same or the next core") {
  for (const std::string& machine : kMachines) {
    const HostInfo host = synthetic(machine);
    const auto cpus = by_id(host);
    const int cores = host.cores();
    for (int ranks = 1; ranks <= 3 * cores + 1; ++ranks) {
      CAPTURE(machine, ranks);
      const std::vector<int> placed = place_ranks(host, ranks);
      REQUIRE(placed.size() == static_cast<size_t>(ranks));
      std::map<int, int> load;
      for (int cpu : placed) ++load[cpus.at(cpu).core];
      const auto [least, most] = std::minmax_element(
          load.begin(), load.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
      CHECK(load.size() == static_cast<size_t>(std::min(ranks, cores)));
      CHECK(most->second - least->second <= 1);
      for (size_t i = 1; i < placed.size(); ++i)
        CHECK(cpus.at(placed[i - 1]).core <= cpus.at(placed[i]).core);
    }
  }
}

TEST_CASE("ranks that share a core take its threads in turn, in blocks") {
  const HostInfo host = synthetic("core:2 pu:2");
  const auto cpus = by_id(host);
  const std::vector<int> placed = place_ranks(host, 5);
  std::vector<int> cores;
  for (int cpu : placed) cores.push_back(cpus.at(cpu).core);
  CHECK(cores == std::vector<int>{0, 0, 0, 1, 1});
  CHECK(placed[0] != placed[1]);
  CHECK(placed[0] == placed[2]);
  CHECK(placed[3] != placed[4]);
}

TEST_CASE("with as many ranks as cores, those that share an L3 cache have consecutive numbers") {
  const HostInfo host = synthetic("pack:2 l3:2 core:4 pu:2");
  const auto cpus = by_id(host);
  std::vector<int> caches;
  for (int cpu : place_ranks(host, 16)) caches.push_back(cpus.at(cpu).l3);
  CHECK(std::is_sorted(caches.begin(), caches.end()));
  CHECK(std::set<int>(caches.begin(), caches.end()).size() == 4);
}

TEST_CASE("a restricted host keeps only the named CPUs, each core's first thread first") {
  const HostInfo host = synthetic("core:4 pu:2");  // core c has CPUs 2c and 2c + 1
  const std::vector<int> named = {1, 2, 3, 6, 99};
  const HostInfo part = restricted_to(host, named);
  std::vector<int> ids;
  for (const Cpu& cpu : part.cpus) ids.push_back(cpu.id);
  CHECK(ids == std::vector<int>{1, 2, 6, 3});
  CHECK(place_ranks(part, 3) == std::vector<int>{1, 2, 6});
}

TEST_CASE("placing no ranks, or on no CPUs, gives nothing") {
  const HostInfo host = synthetic("core:2 pu:1");
  CHECK(place_ranks(host, 0).empty());
  CHECK(place_ranks(restricted_to(host, {}), 4).empty());
}
