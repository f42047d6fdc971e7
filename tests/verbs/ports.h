// SPDX-License-Identifier: Apache-2.0
// Ports for tests of pure functions, written by hand and drawn at random.
#pragma once

#include <string>
#include <vector>

#include "verbs/port.h"
#include "xorshift.h"

namespace rondo::test {

/// "10.0.0.1" or "fe80::1".
IpAddress address(const std::string& text);
/// A GID of RoCE v2; an IPv4 prefix counts from the first bit of the IPv4 address. 0: unknown.
verbs::Gid roce_gid(uint8_t index, const std::string& ip, int prefix, const std::string& interface = "eth0");
verbs::VerbsPort roce_port(const std::string& device, const std::vector<verbs::Gid>& gids);
verbs::VerbsPort infiniband_port(const std::string& device, uint16_t lid, uint64_t subnet_prefix);

/// A number below `end`.
int draw(XorShift& random, int end);
/// From so small a pool that two ports often share a subnet, an address or everything.
verbs::VerbsPort random_port(XorShift& random);

}  // namespace rondo::test
