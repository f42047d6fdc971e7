// SPDX-License-Identifier: Apache-2.0
// IpAddress: an IPv4 or IPv6 address as 16 bytes, as sockets and the GIDs of RoCE ports have it. Pure
// functions: any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace rondo {

/// An IPv6 address; IPv4 ones are mapped into it.
using IpAddress = std::array<uint8_t, 16>;
inline constexpr IpAddress kLoopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};

/// "10.0.0.1" or "fe80::1".
std::string ip_text(const IpAddress& ip);
bool is_mapped_ipv4(const IpAddress& ip);
bool is_loopback(const IpAddress& ip);
/// Whether it is meaningful only on the interface that has it: fe80::/10 or 169.254.0.0/16.
bool is_link_local(const IpAddress& ip);
/// Whether their first `prefix_bits` bits, counted in the mapped address, are equal.
bool same_subnet(const IpAddress& a, const IpAddress& b, int prefix_bits);

}  // namespace rondo
