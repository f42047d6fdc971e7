// SPDX-License-Identifier: Apache-2.0
#include "verbs/slot_channel.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/error_kinds.h"

namespace rondo::verbs {
namespace {

/// What the header of a message notes: how many notices its sender has read, whether its bytes are at the
/// place that was named for them, and whether its sender waits until it is given back.
constexpr uint64_t kIsPlaced = uint64_t{1} << 63;
constexpr uint64_t kIsPosted = uint64_t{1} << 62;
constexpr uint64_t kNoticesRead = 0xFFFFFFFF;

}  // namespace

SlotChannel::SlotChannel(ChannelParts parts)
    : parts_(std::move(parts)),
      flow_(parts_.layout),
      posted_(parts_.layout.max_messages()),
      named_(parts_.layout.slots),
      known_(parts_.layout.slots),
      lengths_(parts_.layout.max_messages()) {}

std::byte* SlotChannel::acquire() {
  if (!has_room()) poll();
  if (!has_room()) return nullptr;
  return bytes_of_sent(flow_.sent());
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
  if (must_copy) fail(copy_accessible(bytes_of_sent(flow_.sent()), data, bytes));
  if (!failure_.ok()) return false;
  hand_over(bytes, signature, must_copy ? nullptr : data);
  return true;
}

void SlotChannel::hand_over(size_t bytes, const Signature& signature, const std::byte* posted_bytes) {
  assert(has_free_slot() && bytes <= parts_.layout.slot_bytes);
  const uint64_t message = flow_.sent();
  SlotHeader& header = *header_of_sent(message);
  header = {};
  header.ready = message + 1;
  header.bytes = static_cast<uint32_t>(bytes);
  header.signature = signature;
  posted(message).data = posted_bytes;
  if (posted_bytes != nullptr) ++unsettled_;
  const uint16_t given_back = flow_.next_message(bytes);
  if (works()) send(message, given_back);
}

void SlotChannel::send(uint64_t message, uint16_t given_back) {
  SlotHeader& header = *header_of_sent(message);
  const uint32_t bytes = header.bytes;
  const auto [place, keys] = known_.take(message, bytes, header.signature);
  const PostedBytes& elsewhere = posted(message);
  header.note =
      known_.tell_read() | (keys != nullptr ? kIsPlaced : 0) | (elsewhere.data != nullptr ? kIsPosted : 0);
  PairSet::SlotWrite write{.offset = flow_.place_of_sent(message),
                           .slot_bytes = sizeof(SlotHeader),
                           .data = elsewhere.data,
                           .regions = &elsewhere.regions,
                           .given_back = given_back,
                           .place = place,
                           .place_keys = keys};
  (elsewhere.data != nullptr ? write.bytes : write.slot_bytes) += bytes;
  parts_.pairs->post(write);
  heed_pairs();
}

void SlotChannel::heed_pairs() {
  if (const auto& lost = parts_.pairs->failure())
    lost->is_of_path ? lose_path(lost->status, lost->pair) : fail(lost->status);
}

bool SlotChannel::flushed() {
  poll();
  if (owes()) give_back(true);
  return is_flushed();
}

/// The message's bytes are needed here no more, unless they lie in its slot.
void SlotChannel::leave(uint64_t message) {
  PostedBytes& elsewhere = posted(message);
  if (std::exchange(elsewhere.data, nullptr) == nullptr) return;
  elsewhere.regions.clear();
  --unsettled_;
}

void SlotChannel::settle(uint64_t messages) {
  for (; settled_ < messages; ++settled_) leave(settled_);
}

const Arrival* SlotChannel::peek() {
  if (arrival_ && !is_reading_back_) return &*arrival_;
  if (!arrival_ && !flow_.has_arrival()) poll();
  if (!arrival_ && flow_.has_arrival()) take_arrival();
  return is_visible() && arrival_ ? &*arrival_ : nullptr;
}

/// The completion has come, so the slot has all bytes. Whatever it says is the peer's.
void SlotChannel::take_arrival() {
  const uint64_t message = flow_.released();
  const std::byte* const slot = parts_.pairs->incoming_at(flow_.place_of_arrival());
  const SlotHeader header = *reinterpret_cast<const SlotHeader*>(slot);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // read once: a hostile peer may go on writing
  const NamedPlaces::TakenPlace place = named_.take(message, header.bytes, header.signature);
  const bool is_placed = (header.note & kIsPlaced) != 0;
  const uint32_t length = lengths_[message % lengths_.size()] + (is_placed ? header.bytes : 0);
  if (header.ready != message + 1)
    return fail(error(ErrorKind::MessageBroken, "the slot of message {} from rank {} holds message {}",
                      message + 1, parts_.peer_rank, header.ready));
  if (header.bytes > parts_.layout.slot_bytes || sizeof header + header.bytes != length)
    return fail(error(ErrorKind::MessageBroken,
                      "the header of message {} from rank {} says {} bytes; {} came, and a slot has {}",
                      message + 1, parts_.peer_rank, header.bytes, length - sizeof header,
                      parts_.layout.slot_bytes));
  if (is_placed && place.at == nullptr)
    return fail(error(ErrorKind::MessageBroken,
                      "rank {} says that message {} is at a place that was not named", parts_.peer_rank,
                      message + 1));
  if (message >= restarted_) fail(named_.acknowledge(static_cast<uint32_t>(header.note & kNoticesRead)));
  if (!failure_.ok()) return;
  signature_ = header.signature;
  is_arrival_posted_ = (header.note & kIsPosted) != 0;
  arrival_ = Arrival{is_placed ? place.at : slot + sizeof header, header.bytes, &signature_};
  if (is_placed && gpu_ != nullptr) make_visible(place, header.bytes);
  if (!failure_.ok()) arrival_.reset();
}

/// Nothing is left on its way after the queue pairs have been ended.
void SlotChannel::make_visible(const NamedPlaces::TakenPlace& place, uint64_t bytes) {
  const GpuMemory::Visibility visibility = gpu_->visibility();
  if (visibility == GpuMemory::Visibility::AfterFlush) fail(gpu_->flush());
  is_reading_back_ = visibility == GpuMemory::Visibility::AfterRead && !place.regions.empty();
  if (is_reading_back_) parts_.pairs->begin_reading_back(place.at + bytes - 1, place.regions);
}

bool SlotChannel::is_visible() {
  if (is_reading_back_) {
    is_reading_back_ = !parts_.pairs->has_read_back();
    heed_pairs();
  }
  return !is_reading_back_;
}

void SlotChannel::release() {
  assert(arrival_);
  flow_.release(arrival_->bytes);
  arrival_.reset();
  if (is_arrival_posted_) owed_ = flow_.released();
  if (flow_.lacks_room(named_.until())) give_back();
}

/// Regions that the peer may write to; memory that the user has made known is registered.
bool SlotChannel::find_or_register(std::byte* place, size_t bytes, PairRegions& found) {
  const auto is_writable = [](const auto& region) { return region->lets_peer_write(); };
  const auto are_found = [&] {
    return parts_.pairs->find_regions(place, bytes, found) &&
           std::all_of(found.begin(), found.end(), is_writable);
  };
  if (!are_found()) {
    const auto memory = find_accessible(place, bytes);
    if (!memory) return false;
    export_memory(*memory);
    if (!are_found()) return false;
  }
  if (found[0]->gpu() != nullptr) gpu_ = found[0]->gpu();
  return true;
}

void SlotChannel::expect_next(std::byte* place, size_t bytes, const Signature* signature) {
  if (named_.room(flow_.released()) == 0) return;
  PlaceOffer offer{.message = named_.count_next(flow_.released()),
                   .at = reinterpret_cast<uint64_t>(place),
                   .bytes = bytes,
                   .any_signature = signature == nullptr};
  if (signature != nullptr) offer.signature = *signature;
  const bool may_come = works() && offer.message >= flow_.arrived();
  PairRegions regions;
  if (may_come && place != nullptr && bytes >= kMinPlaced && find_or_register(place, bytes, regions))
    named_.add(offer, std::move(regions));
}

/// Told at once, so that the peer knows it when it receives what this end sends next.
void SlotChannel::expect_all(std::byte* place, size_t bytes, const Signature& signature) {
  PairRegions regions;
  if (!works() || bytes < kMinPlaced || !named_.takes_stream() || !find_or_register(place, bytes, regions))
    return;
  named_.add({.at = reinterpret_cast<uint64_t>(place), .bytes = bytes, .signature = signature},
             std::move(regions));
  notify();
}

void SlotChannel::notify() {
  const uint64_t offset = SlotPages::notice_offset(parts_.layout, named_.notices());
  const size_t bytes = named_.write_notice(parts_.pairs->outgoing_at(offset), parts_.pairs->pairs());
  parts_.pairs->post({.kind = WriteKind::Notice,
                      .offset = offset,
                      .slot_bytes = static_cast<uint32_t>(bytes),
                      .given_back = flow_.credits()});
  heed_pairs();
}

/// `all`: rather than at least half.
void SlotChannel::give_back(bool all) {
  const auto must = [&] { return flow_.must_give_back(named_.until()) || (all && owes()); };
  if (works() && named_.must_notify(flow_.arrived(), must())) notify();
  if (!must() || !works()) return;
  if (credit_messages_ == PairSet::max_credit_writes(parts_.layout)) return;  // poll() tries again
  ++credit_messages_;
  parts_.pairs->post({.kind = WriteKind::Credit, .given_back = flow_.credits()});
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

void SlotChannel::poll_all() {
  while (poll_once() != 0) continue;
  give_back();
}

/// What the pairs have found.
void SlotChannel::take_in() {
  while (const auto complete = parts_.pairs->take_complete())
    if (*complete == WriteKind::Credit)
      --credit_messages_;
    else if (*complete == WriteKind::Notice)
      named_.complete_notice();
    else
      ++delivered_;
  while (const auto arrived = failure_.ok() ? parts_.pairs->take_arrived() : std::nullopt)
    take_message(*arrived);
  settle(std::min(delivered_, flow_.returned()));
  heed_pairs();
}

void SlotChannel::take_message(const ArrivalOrder::ArrivedWrite& write) {
  if (write.is_notice) return take_notice(write);
  const bool is_message = write.bytes != 0;
  if (is_message && (write.bytes < sizeof(SlotHeader) || write.bytes > parts_.layout.longest()))
    return fail(error(ErrorKind::MessageBroken, "rank {} wrote {} bytes, which is no message",
                      parts_.peer_rank, write.bytes));
  const uint64_t message = flow_.arrived();
  fail(flow_.take(write.given_back, is_message ? WriteKind::Message : WriteKind::Credit));
  if (is_message && failure_.ok()) lengths_[message % lengths_.size()] = static_cast<uint32_t>(write.bytes);
}

void SlotChannel::take_notice(const ArrivalOrder::ArrivedWrite& write) {
  fail(flow_.take(write.given_back, WriteKind::Notice));
  const std::byte* const notice =
      parts_.pairs->incoming_at(SlotPages::notice_offset(parts_.layout, known_.notices()));
  const std::span<const std::byte> read(notice, std::min<uint64_t>(write.bytes, kMaxNoticeBytes));
  if (failure_.ok()) fail(known_.add(read, parts_.pairs->pairs(), flow_.sent()));
}

/// All pairs are polled: an event of one that completed before does not come.
bool SlotChannel::arm() {
  const auto passed = [&] { return delivered_ + settled_ + flow_.arrived(); };
  const uint64_t before = passed();
  const bool had_room = has_room();
  parts_.pairs->arm();
  heed_pairs();
  poll_all();
  return works() && passed() == before && had_room == has_room();
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
  named_.restart();
  known_.restart();
  restarted_ = flow_.arrived();
}

FlowControl::Standing SlotChannel::suspend(const Status& why, size_t pair) {
  end_pairs();
  lose_path(why, pair);
  return flow_.tell_standing();
}

/// Puts the bytes of messages that have not reached the peer into their slots.
void SlotChannel::recall_unsent(uint64_t from) {
  for (uint64_t message = from; message != flow_.sent() && failure_.ok(); ++message) {
    if (const std::byte* const data = posted(message).data)
      fail(copy_accessible(bytes_of_sent(message), data, header_of_sent(message)->bytes));
    leave(message);
  }
}

Status SlotChannel::abandon(const FlowControl::Standing& peers) {
  fail(flow_.resume(peers));
  if (!failure_.ok()) return failure_;
  settle(peers.arrived);
  recall_unsent(peers.arrived);
  delivered_ = peers.arrived;
  return failure_;
}

std::optional<Connection::Unsent> SlotChannel::unsent(size_t nth) const {
  const uint64_t message = delivered_ + nth;
  if (message >= flow_.sent()) return std::nullopt;
  const SlotHeader& header = *header_of_sent(message);
  return Connection::Unsent{bytes_of_sent(message), header.bytes, &header.signature};
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
  fail(error(ErrorKind::MessageCancelled, "messages to and from rank {} were withdrawn", parts_.peer_rank));
}

}  // namespace rondo::verbs
