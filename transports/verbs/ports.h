// SPDX-License-Identifier: Apache-2.0
// What an opened device says of its ports. May take long in the kernel: called on threads that connect.
#pragma once

#include "verbs/library.h"
#include "verbs/port.h"

namespace rondo::verbs {

struct QueriedPort {
  VerbsPort port;
  std::string folder;    // of its device, as device_folder() says
  std::string obstacle;  // why it cannot be used: "is down"; empty if it can
};

/// Adds the ports of a device.
Status add_ports(const Library& verbs, ibv_context* context, std::vector<QueriedPort>& ports);

/// Whether a port's table still has this GID in its place; true if it cannot be read.
bool has_gid(const Library& verbs, ibv_context* context, uint8_t port, const Gid& gid);

/// The table of a port's partition keys.
Result<std::vector<uint16_t>> partition_keys(const Library& verbs, ibv_context* context, uint8_t port);

}  // namespace rondo::verbs
