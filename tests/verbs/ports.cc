// SPDX-License-Identifier: Apache-2.0
#include "ports.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include "catch.h"

namespace rondo::test {
namespace {

verbs::Gid random_gid(XorShift& random, uint8_t index) {
  const int host = 1 + draw(random, 2);
  const int net = draw(random, 2);
  const std::string addresses[] = {fmt::format("10.{}.0.{}", net, host), fmt::format("10.0.{}.{}", net, host),
                                   fmt::format("169.254.{}.{}", net, host), fmt::format("fe80::{}", host),
                                   fmt::format("2001:db8:{}::{}", net, host)};
  const int prefixes[] = {0, 8, 16, 20, 24, 31};
  verbs::Gid gid = roce_gid(index, addresses[draw(random, 5)], prefixes[draw(random, 6)]);
  const int type = draw(random, 6);
  if (type < 2) gid.type = type == 0 ? verbs::GidType::Ib : verbs::GidType::RoceV1;
  gid.admitted = draw(random, 3) != 0;
  gid.interface = fmt::format("eth{}", draw(random, 2));
  return gid;
}

}  // namespace

IpAddress address(const std::string& text) {
  IpAddress ip{};
  const bool ipv4 = text.find(':') == std::string::npos;
  REQUIRE(::inet_pton(AF_INET6, ((ipv4 ? "::ffff:" : "") + text).c_str(), ip.data()) == 1);
  return ip;
}

verbs::Gid roce_gid(uint8_t index, const std::string& ip, int prefix, const std::string& interface) {
  const int unmapped = prefix == 0 || ip.find(':') != std::string::npos ? 0 : 96;
  return {.raw = address(ip),
          .index = index,
          .type = verbs::GidType::RoceV2,
          .prefix_bits = static_cast<uint8_t>(unmapped + prefix),
          .interface = interface};
}

verbs::VerbsPort roce_port(const std::string& device, const std::vector<verbs::Gid>& gids) {
  return {.device = device, .rate = 100, .gids = gids};
}

verbs::VerbsPort infiniband_port(const std::string& device, uint16_t lid, uint64_t subnet_prefix) {
  return {.device = device, .infiniband = true, .lid = lid, .subnet_prefix = subnet_prefix, .rate = 200};
}

int draw(XorShift& random, int end) { return static_cast<int>(random.next() % static_cast<uint64_t>(end)); }

verbs::VerbsPort random_port(XorShift& random) {
  verbs::VerbsPort port{.device = fmt::format("mlx5_{}", draw(random, 2)),
                        .infiniband = draw(random, 4) == 0,
                        .lid = static_cast<uint16_t>(draw(random, 4)),
                        .subnet_prefix = 0xfe80000000000000U + static_cast<uint64_t>(draw(random, 2)),
                        .mtu = 256U << draw(random, 5),
                        .rate = draw(random, 1000) / 4.0,
                        .numa = static_cast<int16_t>(draw(random, 3) - 1),
                        .distance = static_cast<uint16_t>(draw(random, 3)),
                        .rail = static_cast<uint16_t>(draw(random, 2))};
  const int gids = draw(random, 7);
  for (int i = 0; i < gids; ++i) port.gids.push_back(random_gid(random, static_cast<uint8_t>(i * 3)));
  return port;
}

}  // namespace rondo::test
