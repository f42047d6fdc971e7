// SPDX-License-Identifier: Apache-2.0
#include "net/interfaces.h"

#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/log.h"
#include "base/settings.h"

namespace rondo {
namespace {

constexpr std::string_view kVirtual[] = {"docker", "virbr", "veth", "br-", "cni", "flannel", "lxc"};

bool begins_with_any(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto b) { return name.starts_with(b); });
}

/// 0 is best.
int preference(const Interface& interface) {
  const bool ipv4 = interface.ip[10] == 0xff && interface.ip[0] == 0;
  return (is_loopback(interface.ip) ? 4 : 0) + (begins_with_any(interface.name, kVirtual) ? 2 : 0) +
         (ipv4 ? 0 : 1);
}

bool read_address(const ifaddrs& entry, Interface& out) {
  if (entry.ifa_addr == nullptr || entry.ifa_netmask == nullptr || (entry.ifa_flags & IFF_UP) == 0)
    return false;
  out.name = entry.ifa_name;
  if (entry.ifa_addr->sa_family == AF_INET) {
    out.ip = {};
    out.ip[10] = out.ip[11] = 0xff;
    std::memcpy(out.ip.data() + 12, &reinterpret_cast<sockaddr_in*>(entry.ifa_addr)->sin_addr, 4);
    out.prefix_bits = 96 + std::popcount(reinterpret_cast<sockaddr_in*>(entry.ifa_netmask)->sin_addr.s_addr);
    return true;
  }
  if (entry.ifa_addr->sa_family != AF_INET6) return false;
  const auto* in6 = reinterpret_cast<sockaddr_in6*>(entry.ifa_addr);
  if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
    return false;  // meaningless without naming an interface of the reader's host
  std::memcpy(out.ip.data(), &in6->sin6_addr, 16);
  out.prefix_bits = 0;
  for (uint8_t byte : reinterpret_cast<sockaddr_in6*>(entry.ifa_netmask)->sin6_addr.s6_addr)
    out.prefix_bits += std::popcount(byte);
  return true;
}

}  // namespace

Result<std::vector<Interface>> list_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return system_error("cannot list the network interfaces", errno);
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<Interface> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next)
    if (Interface one; read_address(*entry, one)) found.push_back(one);
  return found;
}

bool interface_matches(std::string_view filter, std::string_view name) {
  const bool except = filter.starts_with('^');
  if (except) filter.remove_prefix(1);
  const bool exactly = filter.starts_with('=');
  if (exactly) filter.remove_prefix(1);
  bool named = false;
  while (!filter.empty()) {
    const size_t comma = filter.find(',');
    const std::string_view one = filter.substr(0, comma);
    if (!one.empty()) named = named || (exactly ? name == one : name.starts_with(one));
    filter = comma == std::string_view::npos ? std::string_view() : filter.substr(comma + 1);
  }
  return named != except;
}

std::vector<Interface> choose_interfaces(std::vector<Interface> all, std::string_view filter) {
  if (!filter.empty())
    std::erase_if(all, [&](const auto& one) { return !interface_matches(filter, one.name); });
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return preference(a) < preference(b); });
  const bool reachable =
      std::any_of(all.begin(), all.end(), [](const auto& i) { return !is_loopback(i.ip); });
  if (reachable) std::erase_if(all, [](const auto& one) { return is_loopback(one.ip); });
  return all;
}

std::vector<std::string> interface_names(const std::vector<Interface>& interfaces) {
  std::vector<std::string> names;
  for (const Interface& one : interfaces)
    if (std::find(names.begin(), names.end(), one.name) == names.end()) names.push_back(one.name);
  return names;
}

Result<std::vector<Interface>> offered_interfaces() {
  RONDO_TRY_ASSIGN(const auto all, list_interfaces());
  const Setting which = setting(Setting::SocketIfname) ? Setting::SocketIfname : Setting::NcclSocketIfname;
  const std::string filter = setting(which).value_or("");
  auto chosen = choose_interfaces(all, filter);
  if (chosen.empty() && !filter.empty())
    return error(Code::InvalidArgument, "{}='{}' matches no interface of this host, which has {}",
                 setting_info(which).variable, filter, fmt::join(interface_names(all), ", "));
  for (const auto& one : chosen)
    log().info("network: offering {} of interface {} ({})", ip_text(one.ip), one.name,
               !filter.empty()       ? fmt::format("{}={}", setting_info(which).variable, filter)
               : is_loopback(one.ip) ? "no other interface has an address"
                                     : "no filter set");
  return chosen;
}

std::vector<IpAddress> by_locality(std::vector<IpAddress> addresses, const std::vector<Interface>& own) {
  std::stable_partition(addresses.begin(), addresses.end(), [&](const IpAddress& ip) {
    return std::any_of(own.begin(), own.end(),
                       [&](const Interface& one) { return same_subnet(ip, one.ip, one.prefix_bits); });
  });
  return addresses;
}

}  // namespace rondo
