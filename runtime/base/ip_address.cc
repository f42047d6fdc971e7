// SPDX-License-Identifier: Apache-2.0
#include "base/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace rondo {

std::string ip_text(const IpAddress& ip) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (is_mapped_ipv4(ip))
    ::inet_ntop(AF_INET, ip.data() + 12, text, sizeof text);
  else
    ::inet_ntop(AF_INET6, ip.data(), text, sizeof text);
  return text;
}

bool is_mapped_ipv4(const IpAddress& ip) {
  return std::all_of(ip.begin(), ip.begin() + 10, [](uint8_t b) { return b == 0; }) && ip[10] == 0xff &&
         ip[11] == 0xff;
}

bool is_loopback(const IpAddress& ip) {
  if (is_mapped_ipv4(ip)) return ip[12] == 127;
  return std::all_of(ip.begin(), ip.begin() + 15, [](uint8_t b) { return b == 0; }) && ip[15] == 1;
}

bool is_link_local(const IpAddress& ip) {
  if (is_mapped_ipv4(ip)) return ip[12] == 169 && ip[13] == 254;
  return ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
}

bool same_subnet(const IpAddress& a, const IpAddress& b, int prefix_bits) {
  const auto whole = static_cast<size_t>(prefix_bits / 8);
  if (std::memcmp(a.data(), b.data(), whole) != 0) return false;
  const int rest = prefix_bits % 8;
  return rest == 0 || (a[whole] >> (8 - rest)) == (b[whole] >> (8 - rest));
}

}  // namespace rondo
