// SPDX-License-Identifier: Apache-2.0
#include "ras/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "base/words.h"

namespace rondo {
namespace {

constexpr IpAddress kLoopback6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (problem != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

std::optional<IpAddress> parse_ip(const std::string& text, bool is_ipv6) {
  IpAddress ip{};
  if (is_ipv6) {
    if (::inet_pton(AF_INET6, text.c_str(), ip.data()) != 1) return std::nullopt;
    return ip;
  }
  ip[10] = ip[11] = 0xff;  // IPv4, mapped
  if (::inet_pton(AF_INET, text.c_str(), ip.data() + 12) != 1) return std::nullopt;
  return ip;
}

}  // namespace

std::optional<RasAddress> parse_ras_address(std::string_view text) {
  RasAddress address{.ips = {kLoopback, kLoopback6}};
  if (text.empty()) return address;
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return std::nullopt;
  address.port = *port;
  std::string_view host = text.substr(0, colon);
  if (same_word(host, "localhost")) return address;
  const bool is_ipv6 = host.starts_with('[') && host.ends_with(']');
  if (is_ipv6) host = host.substr(1, host.size() - 2);
  const auto ip = parse_ip(std::string(host), is_ipv6);
  if (!ip) return std::nullopt;
  address.ips = {*ip};
  return address;
}

}  // namespace rondo
