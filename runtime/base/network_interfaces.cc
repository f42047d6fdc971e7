// SPDX-License-Identifier: Apache-2.0
#include "base/network_interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/settings.h"

namespace rondo {
namespace {

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

InterfaceFilter interface_filter() {
  const Setting which = setting(Setting::SocketIfname) ? Setting::SocketIfname : Setting::NcclSocketIfname;
  return {setting_info(which).variable, setting(which).value_or("")};
}

}  // namespace rondo
