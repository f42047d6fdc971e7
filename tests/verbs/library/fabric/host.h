// SPDX-License-Identifier: Apache-2.0
// The devices of the hosts on the fabric.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../settings.h"

namespace rondo::fabric {

struct Port {
  uint32_t number = 0;  // of its device, from 1 on
  bool is_infiniband = false;
  bool is_up = true;
  uint16_t lid = 0;
  ibv_mtu mtu = IBV_MTU_4096;
  uint32_t gbps = 100;
  std::vector<uint16_t> pkeys;
  std::vector<GidRow> gids = std::vector<GidRow>(kMaxGids);

  PortView view() const;
  /// Whether the table has this address with this type.
  bool has(const ibv_gid& gid, uint32_t type) const;
};

struct Device {
  std::string name;
  bool is_dead = false;  // after a fatal error nothing works and nothing is completed
  std::vector<Port> ports;
};

struct Host {
  uint32_t number = 0;
  std::vector<Device> devices;
};

std::unique_ptr<Host> make_host(const Settings& settings);
bool is_null(const ibv_gid& gid);
bool is_same(const ibv_gid& a, const ibv_gid& b);

}  // namespace rondo::fabric
