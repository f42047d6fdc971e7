// SPDX-License-Identifier: Apache-2.0
#include "verdict.h"

#include <algorithm>

#include "memory.h"

namespace rondo::fabric {
namespace {

constexpr uint32_t kPsnMask = 0xFFFFFF;

Verdict local(ibv_wc_status status) { return {Verdict::Local, status}; }

Verdict remote(QueuePair& peer, ibv_wc_status status, ibv_event_type event,
               ibv_wc_status receive_status = IBV_WC_SUCCESS) {
  return {Verdict::Remote, status, event, receive_status, &peer};
}

Verdict judge_at_home(QueuePair& pair, const Message& message) {
  if (!may_use(pair, *message.request, message.is_read() ? IBV_ACCESS_LOCAL_WRITE : 0))
    return local(IBV_WC_LOC_PROT_ERR);
  if (message.is_read() && pair.attr.max_rd_atomic == 0) return local(IBV_WC_LOC_QP_OP_ERR);
  return {};
}

/// The rights of an RDMA request: those of the queue pair, and those of the memory.
Verdict judge_memory(QueuePair& peer, const Message& message) {
  const WorkRequest& request = *message.request;
  const uint32_t rights = message.is_read() ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
  if (message.is_read() && peer.attr.max_dest_rd_atomic == 0)
    return remote(peer, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
  const bool is_allowed =
      (peer.attr.qp_access_flags & rights) != 0 &&
      (message.bytes == 0 || find_remote(peer.connection, peer.pd, request.rkey, request.remote_addr,
                                         message.bytes, rights) != nullptr);
  if (!is_allowed || message.injected == Injected::Access)
    return remote(peer, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
  return {Verdict::Ok, {}, {}, {}, &peer};
}

/// A SEND needs a receive from its first packet on, a write with immediate with its last.
Verdict judge_receive(QueuePair& peer, const Message& message) {
  const bool is_due = message.is_send() || (message.has_imm() && message.pieces.empty());
  if (is_due && (waiting_receives(peer) == 0 || message.injected == Injected::Rnr))
    return {Verdict::Rnr, {}, {}, {}, &peer};
  if (!message.is_send()) return {Verdict::Ok, {}, {}, {}, &peer};
  const WorkRequest& receive = peer.receives->at(peer.received);
  if (length_of(receive) < message.bytes)
    return remote(peer, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR, IBV_WC_LOC_LEN_ERR);
  if (!may_use(peer, receive, IBV_ACCESS_LOCAL_WRITE))
    return remote(peer, IBV_WC_REM_OP_ERR, IBV_EVENT_QP_FATAL, IBV_WC_LOC_PROT_ERR);
  return {Verdict::Ok, {}, {}, {}, &peer};
}

}  // namespace

uint32_t packets(const QueuePair& pair, const Message& message) {
  const uint32_t mtu = bytes_of(pair.attr.path_mtu);
  return message.bytes == 0 ? 1 : (message.bytes - 1) / mtu + 1;
}

uint32_t waiting_receives(const QueuePair& pair) {
  return pair.receives->head.load(std::memory_order_acquire) - pair.received;
}

Verdict judge(Fabric& fabric, QueuePair& pair, const Message& message, bool is_first) {
  if (const Verdict verdict = judge_at_home(pair, message); verdict.kind != Verdict::Ok) return verdict;
  if (message.injected == Injected::Lost) return {Verdict::Lost};
  if (fabric.loss != 0 && ++fabric.attempts % fabric.loss == 0) return {Verdict::Lost};
  const uint32_t packet = std::min(message.bytes, bytes_of(pair.attr.path_mtu));
  QueuePair* const peer = route(fabric, pair, packet);
  if (peer == nullptr) return {Verdict::Lost};
  if (is_first && ((pair.next_psn ^ peer->expected_psn) & kPsnMask) != 0) return {Verdict::Lost};
  if (packet > bytes_of(peer->attr.path_mtu))
    return remote(*peer, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
  if (!message.is_send())
    if (const Verdict verdict = judge_memory(*peer, message); verdict.kind != Verdict::Ok) return verdict;
  return judge_receive(*peer, message);
}

bool may_overtake(Fabric& fabric, QueuePair& pair, size_t index) {
  const Message& message = pair.active[index];
  if (message.is_read() || message.is_send() || message.pieces.empty()) return false;
  if (message.injected != Injected::None || (message.request->flags & IBV_SEND_FENCE) != 0) return false;
  QueuePair* const peer = route(fabric, pair, 0);
  if (peer == nullptr) return false;
  uint32_t receives = waiting_receives(*peer);
  for (size_t before = 0; before < index; ++before) {
    const Message& earlier = pair.active[before];
    if (!earlier.is_accepted || earlier.injected != Injected::None) return false;
    if (earlier.takes_receive() && receives-- == 0) return false;
  }
  return true;
}

}  // namespace rondo::fabric
