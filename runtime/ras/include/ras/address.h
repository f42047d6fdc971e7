// SPDX-License-Identifier: Apache-2.0
// Where the RAS service listens: the value of NCCL_RAS_ADDR. Pure functions: any thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/ip_address.h"

namespace rondo {

struct RasAddress {
  std::vector<IpAddress> ips;
  uint16_t port = 28028;
};

/// "localhost:28028", "10.0.0.1:28028", "[::1]:28028"; empty: the first of these. "localhost" is the loopback
/// addresses of both families. Nothing if it is none of these: names would have to be resolved, which may
/// take long.
std::optional<RasAddress> parse_ras_address(std::string_view text);

}  // namespace rondo
