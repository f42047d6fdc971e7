// SPDX-License-Identifier: Apache-2.0
// NetworkInterfaces: this host's network interfaces, and which of them the user admits. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/status.h"

namespace rondo {

struct Interface {
  std::string name;
  IpAddress ip{};
  int prefix_bits = 128;  // of the subnet, counted in the mapped address
};

/// The interfaces that are up and have an address.
Result<std::vector<Interface>> list_interfaces();

/// NCCL's filter syntax: "eth,ib" (names with these prefixes), "=eth0" (exactly), "^docker,lo" (all but
/// these).
bool interface_matches(std::string_view filter, std::string_view name);

struct InterfaceFilter {
  std::string_view variable;
  std::string value;  // empty: none is set
};
/// RONDO_SOCKET_IFNAME, or else NCCL_SOCKET_IFNAME.
InterfaceFilter interface_filter();

}  // namespace rondo
