// SPDX-License-Identifier: Apache-2.0
#include "verbs/slot_channel.h"

#include <arpa/inet.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <utility>

namespace rondo::verbs {
namespace {

// Completions of writes, by id.
constexpr uint64_t kMessageWrite = 0;
constexpr uint64_t kCreditWrite = 1;

/// Messages with credits alone whose own completions have not come. More than may be on their way: their
/// acknowledgements can be late.
constexpr uint32_t kMaxCreditWrites = 4 * FlowControl::kMaxCreditMessages;

/// What a failed completion means. The peer is at fault, as far as this end knows, unless the request was
/// refused here.
Status failure_of(const Library& verbs, const ibv_wc& completion, int peer_rank) {
  const char* const words = verbs.wc_status_str(completion.status);
  switch (completion.status) {
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_FATAL_ERR:
      return error(Code::SystemError, "the queue pair to rank {} failed: {} (status {})", peer_rank, words,
                   static_cast<int>(completion.status));
    default:
      return error(Code::RemoteError, "the queue pair to rank {} failed: {} (status {})", peer_rank, words,
                   static_cast<int>(completion.status));
  }
}

/// The request itself was right, and may be made again over another path.
bool is_of_path(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_WR_FLUSH_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    case IBV_WC_REM_OP_ERR:  // the peer's queue pair may have been ended
    case IBV_WC_FATAL_ERR:
    case IBV_WC_GENERAL_ERR: return true;
    default: return false;
  }
}

}  // namespace

QueuePair::Depths SlotChannel::depths(const SlotLayout& layout) {
  const auto slots = static_cast<uint32_t>(layout.slots);
  return {.sends = slots + kMaxCreditWrites, .receives = slots + FlowControl::kMaxCreditMessages};
}

SlotChannel::SlotChannel(ChannelParts parts)
    : parts_(std::move(parts)),
      flow_(parts_.layout.slots),
      posted_(parts_.layout.slots),
      lengths_(parts_.layout.slots) {}

std::byte* SlotChannel::acquire() {
  if (!has_room()) poll();
  if (!has_room()) return nullptr;
  return reinterpret_cast<std::byte*>(parts_.outgoing->slot(flow_.sent()) + 1);
}

void SlotChannel::commit(size_t bytes, const Signature& signature) {
  if (failure_.ok()) hand_over(bytes, signature, {});
}

/// Bytes that go inline are copied by the device's library anyway.
std::shared_ptr<const Region> SlotChannel::region_to_post(const std::byte* data, size_t bytes) const {
  if (!works() || sizeof(SlotHeader) + bytes <= parts_.pair->inline_bytes()) return nullptr;
  return parts_.pair->user_regions().find(data, bytes);
}

/// Since can_post() the path may have been lost, or its regions given up.
bool SlotChannel::post(const std::byte* data, size_t bytes, const Signature& signature) {
  if (!failure_.ok() || !has_free_slot()) return false;
  auto region = region_to_post(data, bytes);
  const bool must_copy = region == nullptr && find_accessible(data, bytes);
  if (region == nullptr && !must_copy) return false;
  if (must_copy) std::memcpy(parts_.outgoing->slot(flow_.sent()) + 1, data, bytes);
  hand_over(bytes, signature, {must_copy ? nullptr : data, std::move(region), false});
  return true;
}

void SlotChannel::hand_over(size_t bytes, const Signature& signature, PostedBytes posted_bytes) {
  assert(flow_.has_room() && bytes <= parts_.layout.slot_bytes);
  const uint64_t message = flow_.sent();
  SlotHeader& header = *parts_.outgoing->slot(message);
  header = {};
  header.ready = message + 1;
  header.bytes = static_cast<uint32_t>(bytes);
  header.signature = signature;
  posted(message) = std::move(posted_bytes);
  const Immediate immediate = flow_.next_message();
  if (works()) send(message, immediate);
}

void SlotChannel::send(uint64_t message, Immediate immediate) {
  const SlotHeader* const header = parts_.outgoing->slot(message);
  const PostedBytes& elsewhere = posted(message);
  const auto bytes = static_cast<uint32_t>(header->bytes);
  QueuePair::Write write{.id = kMessageWrite,
                         .pieces = {{{header, sizeof *header, parts_.outgoing->local_key()}}},
                         .to = parts_.peer.slots_at + parts_.layout.offset(message),
                         .remote_key = parts_.peer.key,
                         .immediate = immediate.packed()};
  if (elsewhere.data != nullptr)
    write.pieces[1] = {elsewhere.data, bytes, elsewhere.region->local_key()};
  else
    write.pieces[0].bytes += bytes;
  lose_path(parts_.pair->post(write));
}

void SlotChannel::send_credits() {
  lose_path(parts_.pair->post({.id = kCreditWrite, .immediate = flow_.credits().packed()}));
}

bool SlotChannel::has_posted() const {
  return std::any_of(posted_.begin(), posted_.end(), [](const auto& one) { return one.data != nullptr; });
}

bool SlotChannel::flushed() {
  poll();
  return flow_.sent() == delivered_;
}

std::optional<Arrival> SlotChannel::peek() {
  if (arrival_) return arrival_;
  if (!flow_.has_arrival()) poll();
  if (flow_.has_arrival()) take_arrival();
  return arrival_;
}

/// The completion has come, so the slot has all bytes. Whatever it says is the peer's.
void SlotChannel::take_arrival() {
  const uint64_t message = flow_.released();
  const SlotHeader header = *parts_.incoming->slot(message);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // read once: a hostile peer may go on writing
  const uint32_t length = lengths_[message % parts_.layout.slots];
  if (header.ready != message + 1)
    return fail(error(Code::RemoteError, "the slot of message {} from rank {} holds message {}", message + 1,
                      parts_.peer_rank, header.ready));
  if (header.bytes > parts_.layout.slot_bytes || sizeof header + header.bytes != length)
    return fail(error(
        Code::RemoteError, "the header of message {} from rank {} says {} bytes; {} came, and a slot has {}",
        message + 1, parts_.peer_rank, header.bytes, length - sizeof header, parts_.layout.slot_bytes));
  signature_ = header.signature;
  const auto* const data = reinterpret_cast<const std::byte*>(parts_.incoming->slot(message) + 1);
  arrival_ = Arrival{data, header.bytes, &signature_};
}

void SlotChannel::release() {
  assert(arrival_);
  arrival_.reset();
  flow_.release();
  give_back();
}

void SlotChannel::give_back() {
  if (!flow_.must_give_back() || !works()) return;
  if (credit_messages_ == kMaxCreditWrites) return;  // poll() tries again
  ++credit_messages_;
  send_credits();
}

/// Receives are posted again before anything can be sent that gives their credits back.
void SlotChannel::poll() {
  for (bool more = !is_suspended_; more;) {
    const auto found = parts_.pair->poll();
    if (!found.ok()) return lose_path(found.status());
    for (const ibv_wc& completion : found.value()) take(completion);
    more = found.value().size() == QueuePair::kBatch;
    if (spent_receives_ != 0 && works()) lose_path(parts_.pair->post_receives(spent_receives_));
    spent_receives_ = 0;
  }
  give_back();
}

/// After a failure all that was outstanding fails too, and says no more.
void SlotChannel::take(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS) {
    if (!works()) return;
    const Status failure = failure_of(*library().value(), completion, parts_.peer_rank);
    is_of_path(completion.status) ? lose_path(failure) : fail(failure);
  } else if (completion.wr_id == kMessageWrite) {
    PostedBytes& elsewhere = posted(delivered_++);
    if (elsewhere.data != nullptr) elsewhere = {.are_gone = true};
  } else if (completion.wr_id == kCreditWrite) {
    --credit_messages_;
  } else if (failure_.ok()) {
    ++spent_receives_;
    take_message(completion);
  }
}

void SlotChannel::take_message(const ibv_wc& completion) {
  if (completion.opcode != IBV_WC_RECV_RDMA_WITH_IMM || (completion.wc_flags & IBV_WC_WITH_IMM) == 0)
    return fail(error(Code::RemoteError, "rank {} sent something else than a write with immediate",
                      parts_.peer_rank));
  const uint32_t length = completion.byte_len;
  const bool is_message = length != 0;
  if (is_message && (length < sizeof(SlotHeader) || length > parts_.layout.stride()))
    return fail(
        error(Code::RemoteError, "rank {} wrote {} bytes, which is no message", parts_.peer_rank, length));
  const uint64_t message = flow_.arrived();
  fail(flow_.take(Immediate::of(ntohl(completion.imm_data)), is_message));
  if (is_message && failure_.ok()) lengths_[message % parts_.layout.slots] = length;
}

bool SlotChannel::arm() {
  const uint64_t before = delivered_ + flow_.arrived();
  const bool had_room = has_room();
  lose_path(parts_.pair->arm());
  poll();
  return works() && delivered_ + flow_.arrived() == before && had_room == has_room();
}

void SlotChannel::check_device() {
  if (works() && parts_.pair->device().has_failed())
    lose_path(error(Code::SystemError, "the device {} has failed", parts_.pair->device().name()));
}

void SlotChannel::end_pair() {
  poll();  // a device that has failed still has what it completed before
  if (std::exchange(is_suspended_, true)) return;
  parts_.pair->withdraw([this](const ibv_wc& completion) {
    if (completion.status == IBV_WC_SUCCESS) take(completion);
  });
  for (PostedBytes& one : posted_) one.region.reset();
  parts_.pair.reset();
  parts_.outgoing->deregister();
  parts_.incoming->deregister();
}

FlowControl::Standing SlotChannel::suspend(const Status& why) {
  end_pair();
  lose_path(why);
  return flow_.tell_standing();
}

/// Puts the bytes of messages that have not reached the peer into their slots. Where its device has failed
/// after it had acknowledged them, bytes that were posted may be the user's again.
void SlotChannel::recall_unsent(uint64_t from) {
  for (uint64_t message = from; message != flow_.sent() && failure_.ok(); ++message) {
    PostedBytes& elsewhere = posted(message);
    SlotHeader* const header = parts_.outgoing->slot(message);
    if (elsewhere.data != nullptr) std::memcpy(header + 1, elsewhere.data, header->bytes);
    if (elsewhere.are_gone)
      fail(error(Code::RemoteError, "message {} to rank {} was lost after it had been acknowledged: {}",
                 message + 1, parts_.peer_rank, path_failure_.message()));
    elsewhere = {};
  }
}

Status SlotChannel::abandon(const FlowControl::Standing& peers) {
  fail(flow_.resume(peers));
  if (!failure_.ok()) return failure_;
  for (; delivered_ < peers.arrived; ++delivered_) posted(delivered_) = {};
  recall_unsent(peers.arrived);
  delivered_ = peers.arrived;
  return failure_;
}

std::optional<Connection::Unsent> SlotChannel::unsent(size_t nth) const {
  const uint64_t message = delivered_ + nth;
  if (message >= flow_.sent()) return std::nullopt;
  const SlotHeader& header = *parts_.outgoing->slot(message);
  return Connection::Unsent{reinterpret_cast<const std::byte*>(&header + 1), header.bytes, &header.signature};
}

void SlotChannel::resume(ChannelParts parts, const FlowControl::Standing& peers) {
  if (!abandon(peers).ok()) return;
  parts_ = std::move(parts);
  path_failure_ = {};
  is_suspended_ = false;
  credit_messages_ = spent_receives_ = 0;
  for (uint64_t message = peers.arrived; message != flow_.sent() && works(); ++message)
    send(message, flow_.again(message));
}

void SlotChannel::withdraw() {
  end_pair();
  fail(error(Code::RemoteError, "messages to and from rank {} were withdrawn", parts_.peer_rank));
}

}  // namespace rondo::verbs
