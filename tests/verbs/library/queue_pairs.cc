// SPDX-License-Identifier: Apache-2.0
// Queue pairs: made, modified, asked about and destroyed.
#include <bit>
#include <cerrno>
#include <chrono>
#include <thread>

#include "queue_pair.h"

namespace rondo::fabric {
namespace {

constexpr uint32_t kEceVendor = 0x0252;
constexpr uint32_t kEceOptions = 0x5;

bool is_valid(const ibv_qp_cap& cap) {
  return cap.max_send_wr <= kMaxWorkRequests && cap.max_recv_wr <= kMaxWorkRequests &&
         cap.max_send_sge <= kMaxSge && cap.max_recv_sge <= kMaxSge && cap.max_inline_data <= kMaxInlineBytes;
}

int check(const ibv_qp_init_attr& init) {
  if (init.send_cq == nullptr || init.recv_cq == nullptr || !is_valid(init.cap)) return EINVAL;
  return init.qp_type != IBV_QPT_RC || init.srq != nullptr ? EOPNOTSUPP : 0;
}

std::unique_ptr<Request> describe(const UserQueuePair& pair, const ibv_pd& pd, const ibv_qp_init_attr& init) {
  auto request = make_request(Call::CreateQueuePair);
  request->owner = reinterpret_cast<uint64_t>(&pair);
  request->pd = pd.handle;
  request->send_cq = init.send_cq->handle;
  request->recv_cq = init.recv_cq->handle;
  request->cap = init.cap;
  request->signal_all = init.sq_sig_all;
  request->length = pair.sends.ring->capacity;
  request->iova = pair.receives.ring->capacity;
  return request;
}

/// RoCE resolves addresses in the kernel, which takes its time and may fail.
int resolve() {
  Process& self = process();
  const Settings& settings = self.settings;
  const uint64_t number = ++self.connects;
  std::this_thread::sleep_for(std::chrono::milliseconds(settings.rtr_ms));
  return settings.fails("rtr", number) ? ETIMEDOUT : settings.rtr_error;
}

void remove_completions(UserQueuePair& pair) {
  const auto owner = reinterpret_cast<uint64_t>(&pair);
  static_cast<UserCompletionQueue&>(*pair.send_cq).remove(owner);
  if (pair.recv_cq != pair.send_cq) static_cast<UserCompletionQueue&>(*pair.recv_cq).remove(owner);
}

}  // namespace

bool UserQueue::open(uint32_t requests, uint32_t sges, uint32_t inline_bytes) {
  max_requests = requests;
  max_sge = sges;
  max_inline = inline_bytes;
  const uint32_t capacity = std::bit_ceil(std::max(requests, 1U));
  const uint32_t slot = WorkRing::slot(inline_bytes);
  fd = make_memory(WorkRing::bytes(capacity, slot));
  memory = SharedMemory(fd.get(), WorkRing::bytes(capacity, slot));
  ring = static_cast<WorkRing*>(memory.data());
  if (ring == nullptr) return false;
  ring->capacity = capacity;
  ring->slot_bytes = slot;
  return true;
}

}  // namespace rondo::fabric

using namespace rondo::fabric;

EXPORTED ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  Context& context = context_of(pd->context);
  if (const int error = check(*init); error != 0) return refuse(error);
  auto pair = std::make_unique<UserQueuePair>();
  const ibv_qp_cap& cap = init->cap;
  if (!pair->sends.open(cap.max_send_wr, cap.max_send_sge, cap.max_inline_data) ||
      !pair->receives.open(cap.max_recv_wr, cap.max_recv_sge, 0))
    return refuse(ENOMEM);
  const auto reply =
      ask(context, *describe(*pair, *pd, *init), {pair->sends.fd.get(), pair->receives.fd.get()});
  if (reply->error != 0) return refuse(reply->error);
  pair->sends.fd = Descriptor();
  pair->receives.fd = Descriptor();
  pair->init = *init;
  pair->context = pd->context;
  pair->qp_context = init->qp_context;
  pair->pd = pd;
  pair->send_cq = init->send_cq;
  pair->recv_cq = init->recv_cq;
  pair->handle = pair->qp_num = reply->handle;
  pair->state = IBV_QPS_RESET;
  pair->qp_type = init->qp_type;
  ::pthread_mutex_init(&pair->mutex, nullptr);
  ::pthread_cond_init(&pair->cond, nullptr);
  return pair.release();
}

EXPORTED int ibv_modify_qp(ibv_qp* handle, ibv_qp_attr* attr, int mask) {
  auto& pair = static_cast<UserQueuePair&>(*handle);
  Context& context = context_of(handle->context);
  const bool has_state = (mask & IBV_QP_STATE) != 0;
  if (has_state && attr->qp_state == IBV_QPS_RTR)
    if (const int error = resolve(); error != 0) return error;
  const auto request = make_request(Call::ModifyQueuePair, handle->handle);
  request->attr = *attr;
  request->attr_mask = mask;
  const auto reply = ask(context, *request);
  if (reply->error != 0) return reply->error;
  if (has_state) pair.know(attr->qp_state);
  if (has_state && attr->qp_state == IBV_QPS_RESET) {
    remove_completions(pair);
    pair.sends.done = pair.receives.done = 0;
  }
  return 0;
}

EXPORTED int ibv_query_qp(ibv_qp* handle, ibv_qp_attr* attr, int, ibv_qp_init_attr* init) {
  auto& pair = static_cast<UserQueuePair&>(*handle);
  const auto reply = ask(context_of(handle->context), *make_request(Call::QueryQueuePair, handle->handle));
  if (reply->error != 0) return reply->error;
  *attr = reply->attr;
  attr->cap = pair.init.cap;
  *init = pair.init;
  pair.know(attr->qp_state);
  return 0;
}

/// Waits until the events that the user got are acknowledged, as the library does.
EXPORTED int ibv_destroy_qp(ibv_qp* handle) {
  auto* const pair = static_cast<UserQueuePair*>(handle);
  Context& context = context_of(handle->context);
  const auto reply = ask(context, *make_request(Call::DestroyQueuePair, handle->handle));
  if (reply->error != 0) return reply->error;
  remove_completions(*pair);
  context.events.remove(reinterpret_cast<uint64_t>(pair), sizeof(Event));
  ::pthread_mutex_lock(&pair->mutex);
  while (pair->events_completed != pair->async_delivered) ::pthread_cond_wait(&pair->cond, &pair->mutex);
  ::pthread_mutex_unlock(&pair->mutex);
  delete pair;
  return 0;
}

EXPORTED int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t) { return 0; }

EXPORTED int ibv_query_ece(ibv_qp* handle, ibv_ece* ece) {
  if (!process().settings.has_ece) return EOPNOTSUPP;
  const ibv_ece& accepted = static_cast<UserQueuePair*>(handle)->ece;
  *ece = {kEceVendor, accepted.vendor_id != 0 ? kEceOptions & accepted.options : kEceOptions, 0};
  return 0;
}

/// Accepted until RTR, and only what a peer of the same kind offers.
EXPORTED int ibv_set_ece(ibv_qp* handle, ibv_ece* ece) {
  if (!process().settings.has_ece) return EOPNOTSUPP;
  auto& pair = static_cast<UserQueuePair&>(*handle);
  const ibv_qp_state state = pair.known_state();
  if (state != IBV_QPS_RESET && state != IBV_QPS_INIT) return EINVAL;
  if (ece->comp_mask != 0 || (ece->vendor_id != 0 && ece->vendor_id != kEceVendor)) return EINVAL;
  pair.ece = *ece;
  return 0;
}
