// SPDX-License-Identifier: Apache-2.0
#include "verbs/slot_channel.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <utility>

namespace rondo::verbs {

SlotChannel::SlotChannel(ChannelParts parts)
    : parts_(std::move(parts)),
      flow_(parts_.layout.slots),
      posted_(parts_.layout.slots),
      lengths_(parts_.layout.slots) {}

std::byte* SlotChannel::acquire() {
  if (!has_room()) poll();
  if (!has_room()) return nullptr;
  return reinterpret_cast<std::byte*>(parts_.pairs->outgoing(flow_.sent()) + 1);
}

void SlotChannel::commit(size_t bytes, const Signature& signature) {
  if (failure_.ok()) hand_over(bytes, signature, {});
}

/// Since can_post() the path may have been lost, or its regions given up.
bool SlotChannel::post(const std::byte* data, size_t bytes, const Signature& signature) {
  if (!failure_.ok() || !has_free_slot()) return false;
  const bool must_copy =
      !leaves_in_place(bytes) || !parts_.pairs->find_regions(data, bytes, posted(flow_.sent()).regions);
  if (must_copy && !find_accessible(data, bytes)) return false;
  if (must_copy) std::memcpy(parts_.pairs->outgoing(flow_.sent()) + 1, data, bytes);
  hand_over(bytes, signature, must_copy ? nullptr : data);
  return true;
}

void SlotChannel::hand_over(size_t bytes, const Signature& signature, const std::byte* posted_bytes) {
  assert(flow_.has_room() && bytes <= parts_.layout.slot_bytes);
  const uint64_t message = flow_.sent();
  SlotHeader& header = *parts_.pairs->outgoing(message);
  header = {};
  header.ready = message + 1;
  header.bytes = static_cast<uint32_t>(bytes);
  header.signature = signature;
  posted(message).data = posted_bytes;
  posted(message).are_gone = false;
  const uint16_t given_back = flow_.next_message();
  if (works()) send(message, given_back);
}

void SlotChannel::send(uint64_t message, uint16_t given_back) {
  const auto bytes = static_cast<uint32_t>(parts_.pairs->outgoing(message)->bytes);
  const PostedBytes& elsewhere = posted(message);
  PairSet::SlotWrite write{.offset = parts_.layout.offset(message),
                           .slot_bytes = sizeof(SlotHeader),
                           .data = elsewhere.data,
                           .regions = &elsewhere.regions,
                           .given_back = given_back};
  (elsewhere.data != nullptr ? write.bytes : write.slot_bytes) += bytes;
  parts_.pairs->post(write);
  heed_pairs();
}

void SlotChannel::heed_pairs() {
  if (const auto& lost = parts_.pairs->failure())
    lost->is_of_path ? lose_path(lost->status, lost->pair) : fail(lost->status);
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
  const SlotHeader header = *parts_.pairs->incoming(message);
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
  const auto* const data = reinterpret_cast<const std::byte*>(parts_.pairs->incoming(message) + 1);
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
  if (credit_messages_ == PairSet::kMaxCreditWrites) return;  // poll() tries again
  ++credit_messages_;
  parts_.pairs->post({.given_back = flow_.credits()});
  heed_pairs();
}

size_t SlotChannel::poll_once() {
  if (is_suspended_) return 0;
  const size_t found = parts_.pairs->poll();
  take_in();
  return found;
}

void SlotChannel::poll() {
  while (poll_once() == QueuePair::kBatch) continue;
  give_back();
}

/// What the pairs have found.
void SlotChannel::take_in() {
  while (const auto complete = parts_.pairs->take_complete())
    if (complete->is_credit)
      --credit_messages_;
    else if (PostedBytes& elsewhere = posted(delivered_++); elsewhere.data != nullptr)
      elsewhere.leave(true);
  while (const auto arrived = failure_.ok() ? parts_.pairs->take_arrived() : std::nullopt)
    take_message(*arrived);
  heed_pairs();
}

void SlotChannel::take_message(const ArrivalOrder::ArrivedWrite& write) {
  const bool is_message = write.bytes != 0;
  if (is_message && (write.bytes < sizeof(SlotHeader) || write.bytes > parts_.layout.stride()))
    return fail(error(Code::RemoteError, "rank {} wrote {} bytes, which is no message", parts_.peer_rank,
                      write.bytes));
  const uint64_t message = flow_.arrived();
  fail(flow_.take(write.given_back, is_message));
  if (is_message && failure_.ok())
    lengths_[message % parts_.layout.slots] = static_cast<uint32_t>(write.bytes);
}

/// All pairs are polled: an event of one that completed before does not come.
bool SlotChannel::arm() {
  const uint64_t before = delivered_ + flow_.arrived();
  const bool had_room = has_room();
  parts_.pairs->arm();
  heed_pairs();
  while (poll_once() != 0) continue;
  give_back();
  return works() && delivered_ + flow_.arrived() == before && had_room == has_room();
}

void SlotChannel::check_device() {
  if (!works()) return;
  parts_.pairs->check_devices();
  heed_pairs();
}

void SlotChannel::end_pairs() {
  if (is_suspended_) return;
  while (poll_once() != 0) continue;  // a device that has failed still has what it completed before
  is_suspended_ = true;
  parts_.pairs->withdraw();
  take_in();
  for (PostedBytes& one : posted_) one.regions.clear();
}

FlowControl::Standing SlotChannel::suspend(const Status& why, size_t pair) {
  end_pairs();
  lose_path(why, pair);
  return flow_.tell_standing();
}

/// Puts the bytes of messages that have not reached the peer into their slots. Where its device has failed
/// after it had acknowledged them, bytes that were posted may be the user's again.
void SlotChannel::recall_unsent(uint64_t from) {
  for (uint64_t message = from; message != flow_.sent() && failure_.ok(); ++message) {
    PostedBytes& elsewhere = posted(message);
    SlotHeader* const header = parts_.pairs->outgoing(message);
    if (elsewhere.data != nullptr) std::memcpy(header + 1, elsewhere.data, header->bytes);
    if (elsewhere.are_gone)
      fail(error(Code::RemoteError, "message {} to rank {} was lost after it had been acknowledged: {}",
                 message + 1, parts_.peer_rank, path_failure_.message()));
    elsewhere.leave(false);
  }
}

Status SlotChannel::abandon(const FlowControl::Standing& peers) {
  fail(flow_.resume(peers));
  if (!failure_.ok()) return failure_;
  for (; delivered_ < peers.arrived; ++delivered_) posted(delivered_).leave(false);
  recall_unsent(peers.arrived);
  delivered_ = peers.arrived;
  return failure_;
}

std::optional<Connection::Unsent> SlotChannel::unsent(size_t nth) const {
  const uint64_t message = delivered_ + nth;
  if (message >= flow_.sent()) return std::nullopt;
  const SlotHeader& header = *parts_.pairs->outgoing(message);
  return Connection::Unsent{reinterpret_cast<const std::byte*>(&header + 1), header.bytes, &header.signature};
}

void SlotChannel::resume(ChannelParts parts, const FlowControl::Standing& peers) {
  if (!abandon(peers).ok()) return;
  parts_ = std::move(parts);
  path_failure_ = {};
  is_suspended_ = false;
  credit_messages_ = 0;
  for (uint64_t message = peers.arrived; message != flow_.sent() && works(); ++message)
    send(message, flow_.told());
}

void SlotChannel::withdraw() {
  end_pairs();
  fail(error(Code::RemoteError, "messages to and from rank {} were withdrawn", parts_.peer_rank));
}

}  // namespace rondo::verbs
