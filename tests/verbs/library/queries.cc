// SPDX-License-Identifier: Apache-2.0
// What devices and ports are.
#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "context.h"

namespace rondo::fabric {
namespace {

constexpr uint8_t kWidth4x = 2, kLinkUp = 5, kDisabled = 3;

/// Of four lanes, by the codes of SDR to NDR.
uint8_t speed_of(uint32_t gbps) {
  if (gbps <= 10) return 1;
  if (gbps <= 40) return 4;
  if (gbps <= 56) return 16;
  if (gbps <= 100) return 32;
  return gbps <= 200 ? 64 : 128;
}

/// Empty with an errno.
std::unique_ptr<Reply> ask_port(ibv_context* handle, uint32_t port, int& error) {
  const auto request = make_request(Call::QueryPort);
  request->port = port;
  auto reply = ask(context_of(handle), *request);
  error = reply->error;
  return reply;
}

ibv_device_attr attributes_of(ListedDevice& device) {
  ibv_device_attr attr{};
  std::snprintf(attr.fw_ver, sizeof attr.fw_ver, "0.1");
  attr.node_guid = attr.sys_image_guid = ibv_get_device_guid(&device);
  attr.max_mr_size = ~uint64_t{0};
  attr.page_size_cap = 0xFFFFF000;
  attr.vendor_id = 0x0252;
  attr.max_qp = 4096;
  attr.max_qp_wr = kMaxWorkRequests;
  attr.max_sge = attr.max_sge_rd = kMaxSge;
  attr.max_cq = attr.max_mr = attr.max_pd = 65'536;
  attr.max_cqe = kMaxCompletions;
  attr.max_qp_rd_atom = attr.max_qp_init_rd_atom = kMaxReads;
  attr.max_res_rd_atom = 4096 * kMaxReads;
  attr.device_cap_flags =
      IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID;
  attr.max_pkeys = kMaxPkeys;
  attr.local_ca_ack_delay = 15;
  attr.phys_port_cnt = static_cast<uint8_t>(device.ports);
  return attr;
}

void fill(ibv_gid_entry& entry, const GidRow& row, uint32_t port, uint32_t index) {
  entry.gid = row.gid;
  entry.gid_index = index;
  entry.port_num = port;
  entry.gid_type = row.type;
  entry.ndev_ifindex = row.interface;
}

bool is_set(const GidRow& row) {
  return std::any_of(std::begin(row.gid.raw), std::end(row.gid.raw), [](uint8_t byte) { return byte != 0; });
}

}  // namespace

int query_port(ibv_context* handle, uint8_t number, ibv_port_attr* attr, size_t bytes) {
  int error = 0;
  const auto reply = ask_port(handle, number, error);
  if (error != 0) return error;
  const PortView& port = reply->port;
  ibv_port_attr found{};
  found.state = port.state;
  found.max_mtu = IBV_MTU_4096;
  found.active_mtu = port.mtu;
  found.gid_tbl_len = kMaxGids;
  found.port_cap_flags =
      IBV_PORT_CM_SUP | (port.link_layer == IBV_LINK_LAYER_ETHERNET ? IBV_PORT_IP_BASED_GIDS : 0);
  found.max_msg_sz = kMaxMessage;
  found.pkey_tbl_len = static_cast<uint16_t>(port.pkey_count);
  found.lid = port.lid;
  found.sm_lid = port.lid != 0 ? 1 : 0;
  found.max_vl_num = 1;
  found.active_width = kWidth4x;
  found.active_speed = speed_of(port.gbps);
  found.phys_state = port.state == IBV_PORT_ACTIVE ? kLinkUp : kDisabled;
  found.link_layer = port.link_layer;
  std::memset(attr, 0, bytes);
  std::memcpy(attr, &found, std::min(bytes, sizeof found));
  return 0;
}

int query_device_ex(ibv_context* handle, const ibv_query_device_ex_input*, ibv_device_attr_ex* attr,
                    size_t bytes) {
  context_of(handle);
  ibv_device_attr_ex found{};
  found.orig_attr = attributes_of(static_cast<ListedDevice&>(*handle->device));
  found.phys_port_cnt_ex = found.orig_attr.phys_port_cnt;
  if (process().settings.has_odp) {
    found.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
    found.odp_caps.per_transport_caps.rc_odp_caps =
        IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
  }
  std::memcpy(attr, &found, std::min(bytes, sizeof found));
  return 0;
}

}  // namespace rondo::fabric

using namespace rondo::fabric;

EXPORTED int ibv_query_device(ibv_context* handle, ibv_device_attr* attr) {
  context_of(handle);
  *attr = attributes_of(static_cast<ListedDevice&>(*handle->device));
  return 0;
}

/// As it was before port_cap_flags2; callers that know that field go through the table.
#undef ibv_query_port
EXPORTED int ibv_query_port(ibv_context* handle, uint8_t number, _compat_ibv_port_attr* attr) {
  return query_port(handle, number, reinterpret_cast<ibv_port_attr*>(attr),
                    offsetof(ibv_port_attr, port_cap_flags2));
}

EXPORTED int ibv_query_gid(ibv_context* handle, uint8_t number, int index, ibv_gid* gid) {
  int error = 0;
  const auto reply = ask_port(handle, number, error);
  if (error == 0 && (index < 0 || index >= static_cast<int>(kMaxGids))) error = EINVAL;
  if (error != 0) {
    errno = error;
    return -1;
  }
  *gid = reply->port.gids[index].gid;
  return 0;
}

EXPORTED int _ibv_query_gid_ex(ibv_context* handle, uint32_t number, uint32_t index, ibv_gid_entry* entry,
                               uint32_t flags, size_t) {
  int error = 0;
  const auto reply = ask_port(handle, number, error);
  if (error != 0) return error;
  if (flags != 0 || index >= kMaxGids) return EINVAL;
  if (!is_set(reply->port.gids[index])) return ENODATA;
  fill(*entry, reply->port.gids[index], number, index);
  return 0;
}

EXPORTED ssize_t _ibv_query_gid_table(ibv_context* handle, ibv_gid_entry* entries, size_t most,
                                      uint32_t flags, size_t bytes) {
  if (flags != 0 || bytes != sizeof *entries) return -EINVAL;
  size_t found = 0;
  const uint32_t ports = static_cast<ListedDevice&>(*handle->device).ports;
  for (uint32_t number = 1; number <= ports; ++number) {
    int error = 0;
    const auto reply = ask_port(handle, number, error);
    if (error != 0) return -error;
    for (uint32_t index = 0; index < kMaxGids; ++index) {
      if (!is_set(reply->port.gids[index])) continue;
      if (found == most) return -EINVAL;
      fill(entries[found++], reply->port.gids[index], number, index);
    }
  }
  return static_cast<ssize_t>(found);
}

EXPORTED int ibv_query_pkey(ibv_context* handle, uint8_t number, int index, __be16* pkey) {
  int error = 0;
  const auto reply = ask_port(handle, number, error);
  if (error == 0 && (index < 0 || static_cast<uint32_t>(index) >= reply->port.pkey_count)) error = EINVAL;
  if (error != 0) {
    errno = error;
    return -1;
  }
  *pkey = htons(reply->port.pkeys[index]);
  return 0;
}

EXPORTED int ibv_get_pkey_index(ibv_context* handle, uint8_t number, __be16 pkey) {
  __be16 own = 0;
  for (int index = 0; ibv_query_pkey(handle, number, index, &own) == 0; ++index)
    if (own == pkey) return index;
  return -1;
}
