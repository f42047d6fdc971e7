// SPDX-License-Identifier: Apache-2.0
// Interfaces: which of this host's addresses are offered to other hosts. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/network_interfaces.h"

namespace rondo {

/// The interfaces to offer, best first: those that the filter admits (empty: all but loopback), IPv4 before
/// IPv6, virtual bridges last; loopback only if there is nothing else or the filter names it.
std::vector<Interface> choose_interfaces(std::vector<Interface> all, std::string_view filter);

/// Their names without duplicates: an interface has an entry for each of its addresses.
std::vector<std::string> interface_names(const std::vector<Interface>& interfaces);

/// list_interfaces() and choose_interfaces(), with the filter of RONDO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME;
/// an error if the filter admits none. Logs the choice and the reason.
Result<std::vector<Interface>> offered_interfaces();

/// The addresses in the order to try them: those in a subnet of one of `own` first.
std::vector<IpAddress> by_locality(std::vector<IpAddress> addresses, const std::vector<Interface>& own);

}  // namespace rondo
