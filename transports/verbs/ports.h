// SPDX-License-Identifier: Apache-2.0
// What an opened device says of its ports. May take long in the kernel: called on threads that connect.
#pragma once

#include "verbs/library.h"
#include "verbs/port.h"

namespace rondo::verbs {

struct PortList {
  std::vector<VerbsPort> usable;
  std::vector<std::string> refused;  // the others, each with its reason: "mlx5_0:2 is down"
};

/// Adds the ports of a device.
Status add_ports(const Library& verbs, ibv_context* context, PortList& ports);

}  // namespace rondo::verbs
