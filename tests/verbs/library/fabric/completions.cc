// SPDX-License-Identifier: Apache-2.0
// Completion queues: what enters them, when the process sees it, and events.
#include <unistd.h>

#include <algorithm>

#include "fabric.h"

namespace rondo::fabric {
namespace {

constexpr uint32_t kUndefined = 0xDB;  // where a completion in error has no value
constexpr uint64_t kMaxHidden_ns = 2'000'000;

ibv_wc_opcode opcode_of(const Message& message) {
  if (message.is_read()) return IBV_WC_RDMA_READ;
  return message.is_send() ? IBV_WC_SEND : IBV_WC_RDMA_WRITE;
}

void notify(CompletionQueue& queue, const Completion& entry) {
  CompletionRing& ring = *queue.ring;
  const uint32_t armed = ring.armed.load();
  const bool counts = entry.is_solicited != 0 || entry.status != IBV_WC_SUCCESS;
  if (armed == kNotArmed || (armed == kSolicited && !counts)) return;
  ring.armed.store(kNotArmed);
  if (queue.channel.get() < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(queue.channel.get(), &queue.owner, sizeof queue.owner);
}

/// The store to head and the load of armed are sequentially consistent, as in req_notify_cq() the store to
/// armed and in poll_cq() the load of head: either the process sees the entry, or it gets an event.
void show(CompletionQueue& queue, const Completion& entry) {
  CompletionRing& ring = *queue.ring;
  const uint32_t head = ring.head.load();
  ring.at(head) = entry;
  ring.head.store(head + 1);
  notify(queue, entry);
}

void add(Fabric& fabric, CompletionQueue& queue, const Completion& entry) {
  if (queue.is_broken) return;
  const uint32_t held = queue.ring->head.load() - queue.ring->tail.load();
  if (held + queue.hidden.size() >= queue.ring->capacity) {
    overrun(fabric, queue);
  } else if (!queue.draws) {
    show(queue, entry);
  } else {
    queue.hidden.push_back(entry);
  }
}

Completion start(const QueuePair& pair, const WorkRequest& request, uint32_t done, ibv_wc_status status) {
  Completion entry{};
  entry.wr_id = request.wr_id;
  entry.owner = pair.owner;
  entry.done = done;
  entry.status = status;
  entry.qp_num = pair.number;
  if (status == IBV_WC_SUCCESS) return entry;
  entry.opcode = entry.byte_len = entry.imm = entry.src_qp = kUndefined;
  return entry;
}

}  // namespace

void overrun(Fabric& fabric, CompletionQueue& queue) {
  if (queue.is_broken) return;
  queue.is_broken = true;
  queue.hidden.clear();
  send_event(queue.connection, IBV_EVENT_CQ_ERR, queue.owner);
  for (const auto& [handle, pair] : queue.connection.pairs) {
    if (&pair->send_cq != &queue && &pair->receive_cq != &queue) continue;
    if (pair->state == IBV_QPS_RESET || pair->state == IBV_QPS_ERR) continue;
    to_error(fabric, *pair);
    send_event(queue.connection, IBV_EVENT_QP_FATAL, pair->owner);
  }
}

void complete_send(Fabric& fabric, QueuePair& pair, const Message& message, ibv_wc_status status) {
  const WorkRequest& request = *message.request;
  if (status == IBV_WC_SUCCESS && !pair.signals_all && (request.flags & IBV_SEND_SIGNALED) == 0) return;
  Completion entry = start(pair, request, message.done, status);
  if (status == IBV_WC_SUCCESS) entry.opcode = opcode_of(message);
  if (status == IBV_WC_SUCCESS && message.is_read()) entry.byte_len = message.bytes;
  add(fabric, pair.send_cq, entry);
}

void complete_receive(Fabric& fabric, QueuePair& pair, const Message* message, ibv_wc_status status) {
  const WorkRequest& request = pair.receives->at(pair.received);
  ++pair.received;
  Completion entry = start(pair, request, pair.received, status);
  entry.is_receive = 1;
  if (status == IBV_WC_SUCCESS && message != nullptr) {
    entry.opcode = message->is_send() ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
    entry.byte_len = message->bytes;
    entry.imm = message->has_imm() ? message->request->imm : kUndefined;
    entry.wc_flags = message->has_imm() ? IBV_WC_WITH_IMM : 0;
    entry.src_qp = pair.attr.dest_qp_num;
    entry.is_solicited = (message->request->flags & IBV_SEND_SOLICITED) != 0 ? 1 : 0;
  }
  add(fabric, pair.receive_cq, entry);
}

bool release(Fabric& fabric, CompletionQueue& queue) {
  if (queue.hidden.empty() || fabric.now_ns < queue.wake_ns) return false;
  if (queue.draws.one_in(32)) queue.wake_ns = fabric.now_ns + queue.draws.below(kMaxHidden_ns);
  if (!queue.draws.one_in(4)) return true;
  for (uint64_t batch = 1 + queue.draws.below(queue.hidden.size()); batch > 0; --batch) {
    show(queue, queue.hidden.front());
    queue.hidden.pop_front();
  }
  return !queue.hidden.empty();
}

void forget(CompletionQueue& queue, uint64_t owner) {
  std::erase_if(queue.hidden, [&](const Completion& entry) { return entry.owner == owner; });
}

}  // namespace rondo::fabric
