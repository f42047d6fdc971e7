// SPDX-License-Identifier: Apache-2.0
#include "verbs/ports.h"

#include <endian.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/network_interfaces.h"
#include "verbs/rank_location.h"

namespace rondo::verbs {
namespace {

constexpr size_t kMaxGids = 1024;  // of all ports of a device

/// A newer library has it in the device's table, whose end is what older ones know.
const verbs_context* with_query_port(ibv_context* context) {
  const verbs_context* const extended = verbs_get_ctx(context);
  constexpr size_t kFromHere = sizeof(verbs_context) - offsetof(verbs_context, query_port);
  return extended != nullptr && extended->sz >= kFromHere && extended->query_port != nullptr ? extended
                                                                                             : nullptr;
}

/// As ibv_query_port() in the header, which would need the symbol at link time.
Status query_port(const Library& verbs, ibv_context* context, uint8_t number, ibv_port_attr& attr) {
  const verbs_context* const extended = with_query_port(context);
  attr = {};
  const int failed = extended != nullptr
                         ? extended->query_port(context, number, &attr, sizeof attr)
                         : verbs.query_port(context, number, reinterpret_cast<_compat_ibv_port_attr*>(&attr));
  if (failed == 0) return {};
  return system_error(fmt::format("ibv_query_port({}:{})", verbs.get_device_name(context->device), number),
                      failed);
}

double lanes_of(uint8_t width) {
  switch (width) {
    case 2: return 4;
    case 4: return 8;
    case 8: return 12;
    case 16: return 2;
    default: return 1;
  }
}

/// Gbit/s of a lane, by the codes of SDR to XDR.
double lane_rate(uint8_t speed) {
  switch (speed) {
    case 1: return 2.5;
    case 2: return 5;
    case 4:
    case 8: return 10;
    case 16: return 14;
    case 32: return 25;
    case 64: return 50;
    case 128: return 100;
    default: return 0;
  }
}

GidType type_of(uint32_t type) {
  if (type == IBV_GID_TYPE_ROCE_V2) return GidType::RoceV2;
  return type == IBV_GID_TYPE_ROCE_V1 ? GidType::RoceV1 : GidType::Ib;
}

Gid gid_of(const ibv_gid_entry& entry) {
  Gid gid{.index = static_cast<uint8_t>(entry.gid_index), .type = type_of(entry.gid_type)};
  std::copy(std::begin(entry.gid.raw), std::end(entry.gid.raw), gid.raw.begin());
  char name[IF_NAMESIZE] = "";
  if (entry.ndev_ifindex != 0 && ::if_indextoname(entry.ndev_ifindex, name) != nullptr) gid.interface = name;
  return gid;
}

Result<std::vector<ibv_gid_entry>> read_gids(const Library& verbs, ibv_context* context) {
  std::vector<ibv_gid_entry> entries(kMaxGids);
  const ssize_t found =
      verbs.query_gid_table(context, entries.data(), entries.size(), 0, sizeof(ibv_gid_entry));
  if (found < 0)
    return system_error(fmt::format("ibv_query_gid_table({})", verbs.get_device_name(context->device)),
                        static_cast<int>(-found));
  entries.resize(static_cast<size_t>(found));
  return entries;
}

/// Of the GID's subnet; 0: unknown.
uint8_t prefix_of(const Gid& gid, const std::vector<Interface>& interfaces) {
  const auto found = std::find_if(interfaces.begin(), interfaces.end(),
                                  [&](const Interface& one) { return one.ip == gid.raw; });
  return static_cast<uint8_t>(found != interfaces.end() ? found->prefix_bits : 0);
}

/// Why the port cannot be used; empty if it can.
std::string obstacle(const ibv_port_attr& attr, const VerbsPort& port) {
  const bool has_type = attr.link_layer == IBV_LINK_LAYER_ETHERNET ||
                        attr.link_layer == IBV_LINK_LAYER_INFINIBAND ||
                        attr.link_layer == IBV_LINK_LAYER_UNSPECIFIED;
  if (!has_type) return fmt::format("has the link layer {}", attr.link_layer);
  if (attr.state != IBV_PORT_ACTIVE) return attr.state == IBV_PORT_DOWN ? "is down" : "is not active";
  if (attr.active_mtu < IBV_MTU_256 || attr.active_mtu > IBV_MTU_4096)
    return fmt::format("has the MTU code {}", static_cast<int>(attr.active_mtu));
  if (!port.infiniband && port.gids.empty()) return "has no GID: its network interface has no address";
  if (port.infiniband && port.lid == 0 && port.gids.empty()) return "has neither a LID nor a GID";
  return "";
}

VerbsPort port_of(const std::string& device, uint8_t number, const ibv_port_attr& attr,
                  const std::vector<ibv_gid_entry>& gids) {
  VerbsPort port{.device = device, .number = number};
  port.infiniband = attr.link_layer != IBV_LINK_LAYER_ETHERNET;
  port.lid = attr.lid;
  port.mtu = 128U << static_cast<unsigned>(attr.active_mtu);
  port.rate = lanes_of(attr.active_width) * lane_rate(attr.active_speed);
  for (const ibv_gid_entry& entry : gids)
    if (entry.port_num == number && entry.gid_index <= std::numeric_limits<uint8_t>::max())
      port.gids.push_back(gid_of(entry));
  if (port.infiniband && !port.gids.empty()) {
    std::memcpy(&port.subnet_prefix, port.gids[0].raw.data(), sizeof port.subnet_prefix);
    port.subnet_prefix = be64toh(port.subnet_prefix);
  }
  return port;
}

}  // namespace

Status add_ports(const Library& verbs, ibv_context* context, std::vector<QueriedPort>& ports) {
  const std::string device = verbs.get_device_name(context->device);
  ibv_device_attr attr{};
  if (const int failed = verbs.query_device(context, &attr); failed != 0)
    return system_error(fmt::format("ibv_query_device({})", device), failed);
  RONDO_TRY_ASSIGN(const std::vector<ibv_gid_entry> gids, read_gids(verbs, context));
  const std::string folder = device_folder(std::string(context->device->ibdev_path) + "/device");
  const int16_t numa = memory_node_of(folder);
  RONDO_TRY_ASSIGN(const std::vector<Interface> interfaces, list_interfaces());
  for (uint8_t number = 1; number <= attr.phys_port_cnt; ++number) {
    ibv_port_attr of_port;
    RONDO_TRY(query_port(verbs, context, number, of_port));
    VerbsPort port = port_of(device, number, of_port, gids);
    port.numa = numa;
    for (Gid& gid : port.gids) gid.prefix_bits = prefix_of(gid, interfaces);
    std::string why = obstacle(of_port, port);
    ports.push_back({std::move(port), folder, std::move(why)});
  }
  return {};
}

bool has_gid(const Library& verbs, ibv_context* context, uint8_t port, const Gid& gid) {
  const auto entries = read_gids(verbs, context);
  if (!entries.ok()) return true;
  return std::any_of(entries.value().begin(), entries.value().end(), [&](const ibv_gid_entry& entry) {
    return entry.port_num == port && entry.gid_index == gid.index && gid_of(entry).raw == gid.raw;
  });
}

Result<std::vector<uint16_t>> partition_keys(const Library& verbs, ibv_context* context, uint8_t port) {
  ibv_port_attr attr;
  RONDO_TRY(query_port(verbs, context, port, attr));
  std::vector<uint16_t> keys(attr.pkey_tbl_len);
  for (size_t i = 0; i < keys.size(); ++i) {
    __be16 key = 0;
    if (verbs.query_pkey(context, port, static_cast<int>(i), &key) != 0)
      return system_error(
          fmt::format("ibv_query_pkey({}:{}, {})", verbs.get_device_name(context->device), port, i), errno);
    keys[i] = be16toh(key);
  }
  return keys;
}

}  // namespace rondo::verbs
