// SPDX-License-Identifier: Apache-2.0
// Settings of the stand-in (README.md), from variables that begin with RONDO_STANDIN_VERBS. The fabric takes
// those of the process that opens a device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "wire.h"

namespace rondo::fabric {

struct DeviceSetting {
  bool is_infiniband = false;
  bool is_iwarp = false;
  uint32_t ports = 1;
  uint32_t gbps = 100;
};

struct GidSetting {
  uint32_t type = IBV_GID_TYPE_ROCE_V2;
  std::string address;  // %h: number of the host + 1, %p: number of the port on the host + 1, in decimal
  std::string interface;
};

/// A command of the fabric, and when it is carried out.
struct TimedCommand {
  uint64_t after_ms = 0;  // since the first device was opened on the host
  std::string text;
};

struct Settings {
  std::map<std::string, std::string> variables;  // without the common beginning

  std::vector<DeviceSetting> devices;
  uint32_t host = 0;
  ibv_mtu mtu = IBV_MTU_4096;
  std::vector<GidSetting> gids;  // of each RoCE port
  std::vector<uint16_t> pkeys;   // of each port
  uint16_t subnet = 0;           // the end of the prefix of InfiniBand ports
  uint64_t seed = 0;
  std::vector<TimedCommand> commands;
  std::multimap<std::string, uint64_t> faults;  // what fails, and its 1-based number in its context
  uint64_t memlock_bytes = 0;
  bool has_memlock = false;
  uint32_t rtr_ms = 0;
  int rtr_error = 0;
  bool has_odp = true, has_ece = true, has_dmabuf = true, copies_on_fork = true;
  bool has_peermem = false, holds_gpu_writes = false;
  std::string sys;  // where /sys is

  bool fails(const std::string& what, uint64_t number) const;
};

Settings settings_from_environment();
Settings settings_from_text(const std::string& text);
/// The variables as the other end reads them.
std::string text_of(const Settings& settings);

std::vector<std::string> split(const std::string& list, char separator);
/// An IPv6 address, or an IPv4 address, which is mapped. False: neither.
bool parse_gid(const std::string& text, ibv_gid& gid);
ibv_mtu mtu_of(uint64_t bytes);
inline uint32_t bytes_of(ibv_mtu mtu) { return 128U << mtu; }

}  // namespace rondo::fabric
