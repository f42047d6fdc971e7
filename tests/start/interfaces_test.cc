// SPDX-License-Identifier: Apache-2.0
#include "net/interfaces.h"

#include <fmt/ranges.h>

#include "catch.h"
#include "scoped_environment.h"

namespace rondo {
namespace {

Interface ipv4(const char* name, uint8_t a, uint8_t b, uint8_t c, uint8_t d, int bits) {
  return {name, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}, 96 + bits};
}

Interface ipv6(const char* name, uint8_t last) {
  return {name, {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}, 64};
}

std::vector<std::string> names(const std::vector<Interface>& interfaces) {
  std::vector<std::string> found;
  for (const auto& one : interfaces) found.push_back(one.name);
  return found;
}

const std::vector<Interface> kHost = {ipv4("lo", 127, 0, 0, 1, 8), ipv6("eth0", 1),
                                      ipv4("docker0", 172, 17, 0, 1, 16), ipv4("eth0", 10, 0, 0, 1, 24),
                                      ipv4("ib0", 10, 1, 0, 1, 24)};

}  // namespace

TEST_CASE("interface filters are read as NCCL reads them") {
  CHECK(interface_matches("eth", "eth0"));
  CHECK(interface_matches("ib,eth", "eth1"));
  CHECK_FALSE(interface_matches("=eth", "eth0"));
  CHECK(interface_matches("=eth0", "eth0"));
  CHECK_FALSE(interface_matches("^docker,lo", "docker0"));
  CHECK(interface_matches("^docker,lo", "eth0"));
  CHECK(interface_matches("^=eth0", "eth01"));
}

TEST_CASE("loopback is not offered if there is another interface") {
  CHECK(names(choose_interfaces(kHost, "")) == std::vector<std::string>{"eth0", "ib0", "eth0", "docker0"});
  CHECK(names(choose_interfaces({kHost[0]}, "")) == std::vector<std::string>{"lo"});
}

TEST_CASE("a filter decides which interfaces are offered") {
  CHECK(names(choose_interfaces(kHost, "ib")) == std::vector<std::string>{"ib0"});
  CHECK(names(choose_interfaces(kHost, "^eth,docker")) == std::vector<std::string>{"ib0"});
  CHECK(names(choose_interfaces(kHost, "=lo")) == std::vector<std::string>{"lo"});
  CHECK(choose_interfaces(kHost, "wlan").empty());
}

TEST_CASE("a filter that admits nothing is refused with the name of every interface, each once") {
  CHECK(interface_names(kHost) == std::vector<std::string>{"lo", "eth0", "docker0", "ib0"});
  const test::Environment wlan("RONDO_SOCKET_IFNAME", "wlan");
  const auto refused = offered_interfaces();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().message() ==
        fmt::format("RONDO_SOCKET_IFNAME='wlan' matches no interface of this host, which has {}",
                    fmt::join(interface_names(list_interfaces().take()), ", ")));
}

TEST_CASE("a peer's addresses in a subnet of this host are tried first") {
  const std::vector<IpAddress> peer = {ipv4("", 192, 168, 0, 2, 24).ip, ipv4("", 10, 1, 0, 2, 24).ip};
  CHECK(by_locality(peer, kHost).front() == peer[1]);
  CHECK(by_locality(peer, {}).front() == peer[0]);
}

}  // namespace rondo
