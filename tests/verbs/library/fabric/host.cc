// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>

namespace rondo::fabric {
namespace {

constexpr uint64_t kSubnetPrefix = 0xFE80000000000000;
constexpr uint64_t kGuid = 0x0200000000000000;

void replace(std::string& text, const std::string& what, uint32_t number) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what))
    text.replace(at, what.size(), std::to_string(number));
}

void fill_roce(Port& port, const Settings& settings, uint32_t ordinal) {
  for (size_t row = 0; row < std::min(settings.gids.size(), kMaxGids); ++row) {
    GidSetting setting = settings.gids[row];
    replace(setting.address, "%h", settings.host + 1);
    replace(setting.address, "%p", ordinal + 1);
    if (!parse_gid(setting.address, port.gids[row].gid)) continue;
    port.gids[row].type = setting.type;
    port.gids[row].interface = ::if_nametoindex(setting.interface.c_str());
  }
}

uint64_t big_endian(uint64_t value) {
  return (uint64_t{htonl(static_cast<uint32_t>(value))} << 32) | htonl(static_cast<uint32_t>(value >> 32));
}

void fill_infiniband(Port& port, const Settings& settings, uint32_t ordinal) {
  port.lid = static_cast<uint16_t>(settings.host * 16 + ordinal + 1);
  port.gids[0].gid.global.subnet_prefix = big_endian(kSubnetPrefix + settings.subnet);
  port.gids[0].gid.global.interface_id = big_endian(kGuid + settings.host * 16 + ordinal + 1);
  port.gids[0].type = IBV_GID_TYPE_IB;
}

}  // namespace

PortView Port::view() const {
  PortView view{};
  view.state = is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  view.mtu = mtu;
  view.lid = lid;
  view.link_layer = is_infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  view.gbps = gbps;
  view.pkey_count = static_cast<uint32_t>(std::min(pkeys.size(), kMaxPkeys));
  std::copy_n(pkeys.begin(), view.pkey_count, view.pkeys);
  std::copy(gids.begin(), gids.end(), view.gids);
  return view;
}

bool Port::has(const ibv_gid& gid, uint32_t type) const {
  return std::any_of(gids.begin(), gids.end(),
                     [&](const GidRow& row) { return row.type == type && is_same(row.gid, gid); });
}

std::unique_ptr<Host> make_host(const Settings& settings) {
  auto host = std::make_unique<Host>();
  host->number = settings.host;
  uint32_t ordinal = 0;
  for (const DeviceSetting& setting : settings.devices) {
    Device& device = host->devices.emplace_back();
    device.name = "rondo_" + std::to_string(host->devices.size() - 1);
    for (uint32_t number = 1; number <= setting.ports; ++number, ++ordinal) {
      Port& port = device.ports.emplace_back();
      port.number = number;
      port.is_infiniband = setting.is_infiniband;
      port.mtu = settings.mtu;
      port.gbps = setting.gbps;
      port.pkeys = settings.pkeys;
      if (setting.is_infiniband)
        fill_infiniband(port, settings, ordinal);
      else
        fill_roce(port, settings, ordinal);
    }
  }
  return host;
}

bool is_null(const ibv_gid& gid) {
  static const ibv_gid null{};
  return is_same(gid, null);
}

bool is_same(const ibv_gid& a, const ibv_gid& b) { return std::memcmp(a.raw, b.raw, sizeof a.raw) == 0; }

}  // namespace rondo::fabric
