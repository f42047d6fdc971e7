// SPDX-License-Identifier: Apache-2.0
// PathSearch: which paths are tried, and in which order.
#include "verbs/path_search.h"

#include <algorithm>

#include "catch.h"
#include "ports.h"
#include "seed.h"
#include "verbs/gid_choice.h"
#include "verbs/path_history.h"

namespace rondo::test {
namespace {

using verbs::PathSearch;
using verbs::VerbsPath;
using verbs::VerbsPort;

/// A port with a decoy on another network in front of its address.
VerbsPort port_of(const char* device, const char* decoy, const char* address) {
  return roce_port(device, {roce_gid(0, decoy, 24), roce_gid(1, address, 24)});
}

/// Two hosts of two rails.
struct Hosts {
  std::vector<VerbsPort> dialler{port_of("mlx5_0", "10.1.0.1", "10.2.0.1"),
                                 port_of("mlx5_1", "10.1.1.1", "10.2.1.1")};
  std::vector<VerbsPort> acceptor{port_of("mlx5_0", "10.1.0.2", "10.2.0.2"),
                                  port_of("mlx5_1", "10.1.1.2", "10.2.1.2")};

  std::vector<VerbsPath> paths(uint64_t lane = 0) const {
    return verbs::paths_between(dialler, acceptor, {.lane = lane});
  }
  std::string text(const VerbsPath& path) const { return verbs::path_text(path, dialler, acceptor); }
};

}  // namespace

TEST_CASE("all paths are tried, each once, the same at both ends") {
  XorShift random(test_seed(1), 0);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<VerbsPort> here(static_cast<size_t>(draw(random, 3)));
    std::vector<VerbsPort> there(static_cast<size_t>(draw(random, 3)));
    for (auto* ports : {&here, &there})
      for (VerbsPort& port : *ports) port = random_port(random);
    size_t expected = 0;
    for (const VerbsPort& from : here)
      for (const VerbsPort& to : there) expected += verbs::address_pairs(from, to).size();
    auto paths = verbs::paths_between(here, there, {.lane = static_cast<uint64_t>(trial)});
    REQUIRE(paths.size() == expected);
    for (const VerbsPath& path : paths) REQUIRE(std::count(paths.begin(), paths.end(), path) == 1);
  }
}

TEST_CASE("lanes begin with different rails") {
  const Hosts hosts;
  const auto first = hosts.paths(0).front();
  const auto second = hosts.paths(1).front();
  CHECK(first.dialler.port != second.dialler.port);
  CHECK(first.acceptor.port != second.acceptor.port);
  CHECK(hosts.paths(2).front() == first);
}

TEST_CASE("further queue pairs use the other rails that are as near") {
  Hosts hosts;
  for (auto* ports : {&hosts.dialler, &hosts.acceptor}) verbs::number_rails(*ports);
  for (const uint64_t lane : {0, 1}) {
    const VerbsPath first = hosts.paths(lane)[0];
    const auto beside = verbs::paths_beside(first, hosts.dialler, hosts.acceptor, {.lane = lane});
    REQUIRE(beside.size() == 1);
    REQUIRE_FALSE(beside[0].empty());
    for (const VerbsPath& path : beside[0])
      CHECK((path.dialler.port == 1 - first.dialler.port && path.acceptor.port == 1 - first.acceptor.port));
  }
  hosts.dialler[1].distance = hosts.acceptor[1].distance = 1;
  CHECK(verbs::paths_beside(hosts.paths()[0], hosts.dialler, hosts.acceptor, {}).empty());
}

TEST_CASE("ranks of a host begin with different rails of equal distance, and with none that is far") {
  Hosts hosts;
  for (auto* ports : {&hosts.dialler, &hosts.acceptor}) verbs::number_rails(*ports);
  const auto first_of = [&hosts](uint32_t dialler, uint32_t acceptor) {
    const auto path =
        verbs::paths_between(hosts.dialler, hosts.acceptor, {.dialler = dialler, .acceptor = acceptor})[0];
    return std::pair(path.dialler.port, path.acceptor.port);
  };
  const auto both = [](uint32_t rail) { return std::pair(rail, rail); };
  CHECK(first_of(0, 0) == both(0));
  CHECK(first_of(1, 1) == both(1));
  CHECK(first_of(2, 3) == both(0));
  hosts.dialler[0].distance = hosts.acceptor[0].distance = 1;
  for (const uint32_t turn : {0, 1, 2}) CHECK(first_of(turn, turn) == both(1));
}

TEST_CASE("a path that carries short messages is tried with a shorter MTU, any other is given up") {
  const Hosts hosts;
  const auto paths = hosts.paths();
  PathSearch search(paths);
  const uint32_t full = paths[0].mtu;
  CHECK_FALSE(search.failed(full));
  CHECK(search.current()->dialler == paths[0].dialler);
  CHECK(search.current()->mtu == full / 2);
  search.failed(300);
  CHECK(search.current()->mtu == 256);
  CHECK(search.failed(256));
  CHECK(search.current() == paths[1]);
  for (size_t i = 1; i < paths.size(); ++i) search.failed(0);
  CHECK_FALSE(search.current());
}

TEST_CASE("paths that carried nothing are tried last, others with the MTU that they carried") {
  const Hosts hosts;
  const auto paths = hosts.paths();
  PathSearch search(paths);
  verbs::PathHistory history;
  CHECK(history.add(hosts.text(paths[0]), 0));
  CHECK(history.add(hosts.text(paths[1]), 512));
  CHECK_FALSE(history.add(hosts.text(paths[1]), 512));
  search.apply([&](const VerbsPath& path) { return history.carried(hosts.text(path)); });
  CHECK(search.current()->acceptor == paths[1].acceptor);
  CHECK(search.current()->mtu == 512);
  for (size_t i = 1; i < paths.size(); ++i) search.failed(0);
  CHECK(search.current() == paths[0]);
}

TEST_CASE("a port whose MTU has become shorter than what was carried keeps its own") {
  Hosts hosts;
  for (VerbsPort& port : hosts.acceptor) port.mtu = 1024;
  PathSearch search(hosts.paths());
  search.apply([](const VerbsPath&) { return std::optional<uint32_t>(4096); });
  CHECK(search.current()->mtu == 1024);
}

TEST_CASE("a path's text names both ports and addresses") {
  const Hosts hosts;
  CHECK(hosts.text(hosts.paths().front()) ==
        "mlx5_0:1 10.1.0.1 (GID 0, RoCE v2, eth0) to mlx5_0:1 10.1.0.2 (GID 0, RoCE v2, eth0)");
}

}  // namespace rondo::test
