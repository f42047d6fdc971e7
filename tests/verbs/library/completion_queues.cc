// SPDX-License-Identifier: Apache-2.0
// Completion queues and channels.
#include <unistd.h>

#include <cerrno>

#include "queue_pair.h"

namespace rondo::fabric {
namespace {

struct UserChannel : ibv_comp_channel {
  EventPipe events;
  std::mutex mutex;  // guards refcnt
};

void fill(ibv_wc& wc, const Completion& entry) {
  wc = {};
  wc.wr_id = entry.wr_id;
  wc.status = static_cast<ibv_wc_status>(entry.status);
  wc.opcode = static_cast<ibv_wc_opcode>(entry.opcode);
  wc.byte_len = entry.byte_len;
  wc.imm_data = entry.imm;
  wc.qp_num = entry.qp_num;
  wc.src_qp = entry.src_qp;
  wc.wc_flags = entry.wc_flags;
}

void retire(const Completion& entry) {
  auto* const pair = reinterpret_cast<UserQueuePair*>(entry.owner);  // NOLINT(performance-no-int-to-ptr)
  UserQueue& queue = entry.is_receive != 0 ? pair->receives : pair->sends;
  queue.done.store(entry.done, std::memory_order_release);  // a post acquires it, and reuses the slots
}

void reference(UserChannel* channel, int by) {
  if (channel == nullptr) return;
  const std::lock_guard lock(channel->mutex);
  channel->refcnt += by;
}

}  // namespace

void UserCompletionQueue::remove(uint64_t owner) {
  const std::lock_guard lock(poll_mutex);
  const uint32_t head = ring->head.load();
  for (uint32_t at = ring->tail.load(); at != head; ++at)
    if (ring->at(at).owner == owner) ring->at(at).owner = 0;
}

int poll_cq(ibv_cq* handle, int entries, ibv_wc* wc) {
  auto& queue = static_cast<UserCompletionQueue&>(*handle);
  context_of(handle->context);
  process().count(Counted::PollCq);
  const std::lock_guard lock(queue.poll_mutex);
  CompletionRing& ring = *queue.ring;
  const uint32_t head = ring.head.load();
  uint32_t tail = ring.tail.load(std::memory_order_relaxed);
  int found = 0;
  for (; tail != head && found < entries; ++tail) {
    const Completion& entry = ring.at(tail);
    if (entry.owner == 0) continue;
    fill(wc[found++], entry);
    retire(entry);
  }
  ring.tail.store(tail, std::memory_order_release);  // the fabric's load reuses the entries
  if (found == 0) process().count(Counted::EmptyPoll);
  return found;
}

int req_notify_cq(ibv_cq* handle, int solicited_only) {
  auto& queue = static_cast<UserCompletionQueue&>(*handle);
  context_of(handle->context);
  process().count(Counted::ReqNotify);
  if (solicited_only == 0)
    queue.ring->armed.store(kAny);
  else if (uint32_t expected = kNotArmed; !queue.ring->armed.compare_exchange_strong(expected, kSolicited)) {
    // It is armed already, for this or for more.
  }
  return 0;
}

}  // namespace rondo::fabric

using namespace rondo::fabric;

EXPORTED ibv_comp_channel* ibv_create_comp_channel(ibv_context* handle) {
  context_of(handle);
  auto channel = std::make_unique<UserChannel>();
  if (!channel->events.open()) return refuse(errno);
  channel->context = handle;
  channel->fd = channel->events.read_end.get();
  channel->refcnt = 0;
  return channel.release();
}

EXPORTED int ibv_destroy_comp_channel(ibv_comp_channel* handle) {
  auto* const channel = static_cast<UserChannel*>(handle);
  {
    const std::lock_guard lock(channel->mutex);
    if (channel->refcnt != 0) return EBUSY;
  }
  delete channel;
  return 0;
}

EXPORTED ibv_cq* ibv_create_cq(ibv_context* handle, int entries, void* cq_context, ibv_comp_channel* channel,
                               int vector) {
  if (entries < 1 || entries > static_cast<int>(kMaxCompletions) || vector < 0 ||
      vector >= handle->num_comp_vectors)
    return refuse(EINVAL);
  const auto capacity = static_cast<uint32_t>(entries);
  const Descriptor memory = make_memory(CompletionRing::bytes(capacity));
  auto queue = std::make_unique<UserCompletionQueue>();
  queue->memory = SharedMemory(memory.get(), CompletionRing::bytes(capacity));
  queue->ring = static_cast<CompletionRing*>(queue->memory.data());
  if (queue->ring == nullptr) return refuse(ENOMEM);
  queue->ring->capacity = capacity;
  auto* const user_channel = static_cast<UserChannel*>(channel);
  const auto request = make_request(Call::CreateCompletionQueue);
  request->owner = reinterpret_cast<uint64_t>(queue.get());
  request->length = capacity;
  std::vector<int> fds = {memory.get()};
  if (channel != nullptr) fds.push_back(user_channel->events.write_end.get());
  const auto reply = ask(context_of(handle), *request, fds);
  if (reply->error != 0) return refuse(reply->error);
  queue->context = handle;
  queue->channel = channel;
  queue->cq_context = cq_context;
  queue->handle = reply->handle;
  queue->cqe = entries;
  ::pthread_mutex_init(&queue->mutex, nullptr);
  ::pthread_cond_init(&queue->cond, nullptr);
  reference(user_channel, 1);
  return queue.release();
}

/// Waits until the events that the user got are acknowledged, as the library does.
EXPORTED int ibv_destroy_cq(ibv_cq* handle) {
  auto* const queue = static_cast<UserCompletionQueue*>(handle);
  Context& context = context_of(handle->context);
  const auto reply = ask(context, *make_request(Call::DestroyCompletionQueue, handle->handle));
  if (reply->error != 0) return reply->error;
  auto* const channel = static_cast<UserChannel*>(handle->channel);
  const auto owner = reinterpret_cast<uint64_t>(queue);
  if (channel != nullptr) channel->events.remove(owner, sizeof owner);
  context.events.remove(owner, sizeof(Event));
  ::pthread_mutex_lock(&queue->mutex);
  while (queue->comp_events_completed != queue->delivered ||
         queue->async_events_completed != queue->async_delivered)
    ::pthread_cond_wait(&queue->cond, &queue->mutex);
  ::pthread_mutex_unlock(&queue->mutex);
  reference(channel, -1);
  delete queue;
  return 0;
}

EXPORTED int ibv_get_cq_event(ibv_comp_channel* handle, ibv_cq** cq, void** cq_context) {
  uint64_t owner = 0;
  ssize_t got = 0;
  do got = ::read(handle->fd, &owner, sizeof owner);
  while (got < 0 && errno == EINTR);
  if (got != sizeof owner) return -1;
  auto* const queue = reinterpret_cast<UserCompletionQueue*>(owner);  // NOLINT(performance-no-int-to-ptr)
  ::pthread_mutex_lock(&queue->mutex);
  ++queue->delivered;
  ::pthread_mutex_unlock(&queue->mutex);
  *cq = queue;
  *cq_context = queue->cq_context;
  return 0;
}

EXPORTED void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
  ::pthread_mutex_lock(&cq->mutex);
  cq->comp_events_completed += count;
  ::pthread_cond_signal(&cq->cond);
  ::pthread_mutex_unlock(&cq->mutex);
}

EXPORTED int ibv_resize_cq(ibv_cq*, int) { return EOPNOTSUPP; }
