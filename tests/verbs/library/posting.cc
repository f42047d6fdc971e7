// SPDX-License-Identifier: Apache-2.0
// Posting of work requests: into a ring that the fabric reads.
#include <cerrno>
#include <cstring>

#include "queue_pair.h"

namespace rondo::fabric {
namespace {

bool is_supported(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM || opcode == IBV_WR_SEND ||
         opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_READ;
}

uint64_t length_of(const ibv_sge* sges, int count) {
  uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += sges[i].length;
  return bytes;
}

/// Room is counted by what was polled: a request without a completion of its own counts until a later one has
/// come.
bool is_full(const UserQueue& queue) {
  const uint32_t head = queue.ring->head.load(std::memory_order_relaxed);
  return head - queue.done.load(std::memory_order_acquire) >= queue.max_requests;
}

int check(const UserQueue& queue, const ibv_send_wr& wr) {
  if (!is_supported(wr.opcode) || wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > queue.max_sge)
    return EINVAL;
  const uint64_t bytes = length_of(wr.sg_list, wr.num_sge);
  if (bytes > kMaxMessage) return EINVAL;
  if ((wr.send_flags & IBV_SEND_INLINE) != 0 && (wr.opcode == IBV_WR_RDMA_READ || bytes > queue.max_inline))
    return EINVAL;
  return is_full(queue) ? ENOMEM : 0;
}

void copy_inline(WorkRequest& slot, const ibv_send_wr& wr) {
  std::byte* to = slot.inline_data();
  for (int i = 0; i < wr.num_sge; ++i) {
    const void* const from =
        reinterpret_cast<const void*>(wr.sg_list[i].addr);  // NOLINT(performance-no-int-to-ptr)
    if (wr.sg_list[i].length != 0) std::memcpy(to, from, wr.sg_list[i].length);
    to += wr.sg_list[i].length;
  }
  slot.inline_bytes = static_cast<uint32_t>(to - slot.inline_data());
}

void copy_elements(WorkRequest& slot, const ibv_sge* sges, int count) {
  slot.sges = static_cast<uint32_t>(count);
  for (int i = 0; i < count; ++i) slot.sge[i] = sges[i];
}

void put(UserQueue& queue, const ibv_send_wr& wr) {
  const uint32_t head = queue.ring->head.load(std::memory_order_relaxed);
  WorkRequest& slot = queue.ring->at(head);
  slot.wr_id = wr.wr_id;
  slot.remote_addr = wr.wr.rdma.remote_addr;
  slot.rkey = wr.wr.rdma.rkey;
  slot.imm = wr.imm_data;
  slot.opcode = wr.opcode;
  slot.flags = wr.send_flags;
  slot.inline_bytes = 0;
  slot.sges = 0;
  if ((wr.send_flags & IBV_SEND_INLINE) != 0)
    copy_inline(slot, wr);
  else
    copy_elements(slot, wr.sg_list, wr.num_sge);
  queue.ring->head.store(head + 1);
}

int check(const UserQueue& queue, const ibv_recv_wr& wr) {
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > queue.max_sge) return EINVAL;
  return is_full(queue) ? ENOMEM : 0;
}

void put(UserQueue& queue, const ibv_recv_wr& wr) {
  const uint32_t head = queue.ring->head.load(std::memory_order_relaxed);
  WorkRequest& slot = queue.ring->at(head);
  slot.wr_id = wr.wr_id;
  slot.flags = 0;
  copy_elements(slot, wr.sg_list, wr.num_sge);
  queue.ring->head.store(head + 1);
}

/// Posts the list up to the first that is refused.
template <class Wr>
int post(UserQueue& queue, bool is_allowed, Wr* wr, Wr** bad) {
  const std::lock_guard lock(queue.mutex);
  for (; wr != nullptr; wr = wr->next) {
    const int error = is_allowed ? check(queue, *wr) : EINVAL;
    if (error != 0) {
      *bad = wr;
      return error;
    }
    put(queue, *wr);
  }
  return 0;
}

}  // namespace

int post_send(ibv_qp* handle, ibv_send_wr* wr, ibv_send_wr** bad) {
  Context& context = context_of(handle->context);
  process().count(Counted::PostSend);
  auto& pair = static_cast<UserQueuePair&>(*handle);
  const ibv_qp_state state = pair.known_state();
  const int error = post(pair.sends, state == IBV_QPS_RTS || state == IBV_QPS_ERR, wr, bad);
  context.ring();
  return error;
}

/// Receives need the fabric awake only in ERR, where they are flushed. The store to the ring and the load of
/// the flag are sequentially consistent, as are the fabric's store to the flag and its load of the ring's
/// head.
int post_recv(ibv_qp* handle, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  Context& context = context_of(handle->context);
  process().count(Counted::PostRecv);
  auto& pair = static_cast<UserQueuePair&>(*handle);
  const int error = post(pair.receives, pair.known_state() != IBV_QPS_RESET, wr, bad);
  if (pair.receives.ring->is_flushing.load() != 0) context.ring();
  return error;
}

}  // namespace rondo::fabric
