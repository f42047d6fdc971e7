// SPDX-License-Identifier: Apache-2.0
#include "net/interfaces.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "base/error_kinds.h"
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

}  // namespace

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
  const auto [which, filter] = interface_filter();
  auto chosen = choose_interfaces(all, filter);
  if (chosen.empty() && !filter.empty())
    return error(ErrorKind::InterfaceUnknown, "{}='{}' matches no interface of this host, which has {}",
                 which, filter, fmt::join(interface_names(all), ", "));
  for (const auto& one : chosen)
    log().info("network: offering {} of interface {} ({})", ip_text(one.ip), one.name,
               !filter.empty()       ? fmt::format("{}={}", which, filter)
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
