// SPDX-License-Identifier: Apache-2.0
// The states of an RC queue pair, and which attributes each transition requires and allows (IBTA, 11.2.5.2).
#include <cerrno>

#include "fabric.h"
#include "memory.h"

namespace rondo::fabric {
namespace {

struct Transition {
  ibv_qp_state from, to;
  int required, optional;
};

constexpr int kConnect = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kSend =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int kLater = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER;

constexpr int kInit = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr Transition kTransitions[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, kInit, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kInit},
    {IBV_QPS_INIT, IBV_QPS_RTR, kConnect, IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_RTR, IBV_QPS_RTS, kSend, kLater},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kLater},
};

bool is_allowed(const QueuePair& pair, ibv_qp_state to, int mask) {
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return (mask & ~IBV_QP_CUR_STATE) == 0;
  for (const Transition& row : kTransitions)
    if (row.from == pair.state && row.to == to)
      return (mask & row.required) == row.required && (mask & ~(row.required | row.optional)) == 0;
  return false;
}

Port* port_of(QueuePair& pair, uint32_t number) {
  std::vector<Port>& ports = pair.connection.device->ports;
  return number >= 1 && number <= ports.size() ? &ports[number - 1] : nullptr;
}

bool is_valid_address(QueuePair& pair, const ibv_ah_attr& to) {
  if (to.port_num != pair.port->number || to.sl > 15) return false;
  if (to.is_global == 0) return pair.port->is_infiniband && to.dlid != 0 && to.dlid < 0xC000;
  if (to.grh.sgid_index >= kMaxGids || is_null(to.grh.dgid)) return false;
  return !is_null(pair.port->gids[to.grh.sgid_index].gid);
}

/// Whether the values of the attributes in the mask are in their ranges.
bool has_valid_values(QueuePair& pair, const ibv_qp_attr& attr, int mask) {
  const auto has = [&](int bit) { return (mask & bit) != 0; };
  constexpr uint32_t kAccess =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  if (has(IBV_QP_CUR_STATE) && attr.cur_qp_state != pair.state) return false;
  if (has(IBV_QP_PORT) && port_of(pair, attr.port_num) == nullptr) return false;
  if (has(IBV_QP_PKEY_INDEX) && attr.pkey_index >= pair.connection.settings.pkeys.size()) return false;
  if (has(IBV_QP_ACCESS_FLAGS) && (attr.qp_access_flags & ~kAccess) != 0) return false;
  if (has(IBV_QP_AV) && !is_valid_address(pair, attr.ah_attr)) return false;
  if (has(IBV_QP_PATH_MTU) && (attr.path_mtu < IBV_MTU_256 || attr.path_mtu > pair.port->mtu)) return false;
  if (has(IBV_QP_DEST_QPN) && attr.dest_qp_num > 0xFFFFFF) return false;
  if (has(IBV_QP_MAX_DEST_RD_ATOMIC) && attr.max_dest_rd_atomic > kMaxReads) return false;
  if (has(IBV_QP_MAX_QP_RD_ATOMIC) && attr.max_rd_atomic > kMaxReads) return false;
  if (has(IBV_QP_MIN_RNR_TIMER) && attr.min_rnr_timer > 31) return false;
  if (has(IBV_QP_TIMEOUT) && attr.timeout > 31) return false;
  return !(has(IBV_QP_RETRY_CNT) && attr.retry_cnt > 7) && !(has(IBV_QP_RNR_RETRY) && attr.rnr_retry > 7);
}

/// Takes the attributes in the mask.
void take(QueuePair& pair, const ibv_qp_attr& attr, int mask) {
  ibv_qp_attr& own = pair.attr;
  const auto has = [&](int bit) { return (mask & bit) != 0; };
  if (has(IBV_QP_PORT)) own.port_num = attr.port_num;
  if (has(IBV_QP_PORT)) pair.port = port_of(pair, attr.port_num);
  if (has(IBV_QP_PKEY_INDEX)) own.pkey_index = attr.pkey_index;
  if (has(IBV_QP_ACCESS_FLAGS)) own.qp_access_flags = attr.qp_access_flags;
  if (has(IBV_QP_AV)) own.ah_attr = attr.ah_attr;
  if (has(IBV_QP_PATH_MTU)) own.path_mtu = attr.path_mtu;
  if (has(IBV_QP_DEST_QPN)) own.dest_qp_num = attr.dest_qp_num;
  if (has(IBV_QP_RQ_PSN)) own.rq_psn = attr.rq_psn & 0xFFFFFF;
  if (has(IBV_QP_SQ_PSN)) own.sq_psn = attr.sq_psn & 0xFFFFFF;
  if (has(IBV_QP_MAX_DEST_RD_ATOMIC)) own.max_dest_rd_atomic = attr.max_dest_rd_atomic;
  if (has(IBV_QP_MAX_QP_RD_ATOMIC)) own.max_rd_atomic = attr.max_rd_atomic;
  if (has(IBV_QP_MIN_RNR_TIMER)) own.min_rnr_timer = attr.min_rnr_timer;
  if (has(IBV_QP_TIMEOUT)) own.timeout = attr.timeout;
  if (has(IBV_QP_RETRY_CNT)) own.retry_cnt = attr.retry_cnt;
  if (has(IBV_QP_RNR_RETRY)) own.rnr_retry = attr.rnr_retry;
}

void reset(QueuePair& pair) {
  pair.active.clear();
  pair.unacknowledged.clear();
  forget(pair.send_cq, pair.owner);
  forget(pair.receive_cq, pair.owner);
  pair.attr = {};
  pair.sent = pair.received = pair.seen = pair.seen_receives = 0;
  pair.sends->head.store(0);
  pair.receives->head.store(0);
  pair.receives->is_flushing.store(0);
  pair.port = nullptr;
  pair.source = {};
  pair.is_lost = false;
  pair.wake_ns = 0;
}

/// What the attributes mean for the new state.
void enter(QueuePair& pair, ibv_qp_state state) {
  if (state == IBV_QPS_RTR) {
    const ibv_ah_attr& to = pair.attr.ah_attr;
    const GidRow& row = pair.port->gids[to.is_global != 0 ? to.grh.sgid_index : 0];
    pair.source = row.gid;
    pair.source_type = row.type;
    pair.expected_psn = pair.attr.rq_psn;
  } else if (state == IBV_QPS_RTS && pair.state == IBV_QPS_RTR) {
    pair.next_psn = pair.attr.sq_psn;
    pair.retries_left = pair.attr.retry_cnt;
    pair.rnr_left = pair.attr.rnr_retry;
  }
  pair.state = state;
}

}  // namespace

int modify(Fabric& fabric, QueuePair& pair, const ibv_qp_attr& attr, int mask) {
  if (pair.connection.device->is_dead) return EIO;
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attr.qp_state : pair.state;
  const int given = mask & ~IBV_QP_STATE;
  if (!is_allowed(pair, to, given) || !has_valid_values(pair, attr, given)) return EINVAL;
  if (to == IBV_QPS_ERR) {
    land(pair.connection);
    to_error(fabric, pair);
  } else if (to == IBV_QPS_RESET) {
    reset(pair);
    pair.state = to;
  } else {
    take(pair, attr, given);
    enter(pair, to);
  }
  return 0;
}

}  // namespace rondo::fabric
