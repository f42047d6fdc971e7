// SPDX-License-Identifier: Apache-2.0
// Whether what a queue pair sends reaches another.
#include <algorithm>

#include "fabric.h"

namespace rondo::fabric {
namespace {

/// Whether two ports and their addresses fit, as seen by the sender.
bool addresses(const QueuePair& pair, const Port& target) {
  const ibv_ah_attr& to = pair.attr.ah_attr;
  if (pair.port->is_infiniband != target.is_infiniband) return false;
  if (!pair.port->is_infiniband) return target.has(to.grh.dgid, pair.source_type);
  if (to.is_global != 0) return target.has(to.grh.dgid, IBV_GID_TYPE_IB);
  return to.dlid == target.lid &&
         pair.port->gids[0].gid.global.subnet_prefix == target.gids[0].gid.global.subnet_prefix;
}

bool is_from(const ibv_ah_attr& expected, const QueuePair& sender) {
  if (expected.is_global != 0) return is_same(expected.grh.dgid, sender.source);
  return expected.dlid == sender.port->lid;
}

bool is_dropped(const Fabric& fabric, const ibv_gid& from, const ibv_gid& to) {
  return std::any_of(fabric.dropped.begin(), fabric.dropped.end(), [&](const auto& pair) {
    return (is_same(pair.first, from) && is_same(pair.second, to)) ||
           (is_same(pair.first, to) && is_same(pair.second, from));
  });
}

/// Both ends are in one partition, and one of them is a full member (the highest bit).
bool share_partition(const QueuePair& one, const QueuePair& other) {
  constexpr uint16_t kFull = 0x8000;
  const uint16_t a = one.port->pkeys[one.attr.pkey_index], b = other.port->pkeys[other.attr.pkey_index];
  return ((a ^ b) & ~kFull) == 0 && ((a | b) & kFull) != 0;
}

/// Whether the port still has the address that the queue pair sends from.
bool has_source(const QueuePair& pair) {
  const ibv_ah_attr& to = pair.attr.ah_attr;
  if (to.is_global == 0) return true;
  return is_same(pair.port->gids[to.grh.sgid_index].gid, pair.source);
}

}  // namespace

QueuePair* route(Fabric& fabric, const QueuePair& pair, uint32_t packet_bytes) {
  if (!pair.port->is_up || !has_source(pair)) return nullptr;
  if (fabric.path_bytes != 0 && packet_bytes > fabric.path_bytes) return nullptr;
  const auto found = fabric.pairs.find(pair.attr.dest_qp_num);
  if (found == fabric.pairs.end()) return nullptr;
  QueuePair& peer = *found->second;
  if (peer.state != IBV_QPS_RTR && peer.state != IBV_QPS_RTS) return nullptr;
  if (peer.connection.device->is_dead || !peer.port->is_up || !has_source(peer)) return nullptr;
  if (!share_partition(pair, peer)) return nullptr;
  if (peer.attr.dest_qp_num != pair.number || !addresses(pair, *peer.port)) return nullptr;
  if (!is_from(peer.attr.ah_attr, pair) || is_dropped(fabric, pair.source, peer.source)) return nullptr;
  return &peer;
}

}  // namespace rondo::fabric
