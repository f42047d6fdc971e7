// SPDX-License-Identifier: Apache-2.0
#include "shm/receiving_half.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "base/error_kinds.h"
#include "shm/short_ring.h"

namespace rondo::shm {

ReceivingHalf::ReceivingHalf(const Segment& segment, int direction, const AgreedParams& params,
                             ReadPeer read_peer)
    : slots_(segment.slots(direction, params)),
      kept_(segment.kept(direction, params)),
      short_ring_(segment.short_ring(direction, params)),
      receiver_(segment.fifo(direction, params)),
      mapped_(segment.exports(direction, params), read_peer),
      progress_(segment.progress(direction, params)),
      taken_time_(segment.times(direction, params)),
      reading_(segment.cancel_words(direction, params)),
      slot_bytes_(params.slot_bytes) {}

/// Does nothing while a message is being read, as it could unmap that message's memory.
void ReceivingHalf::hear_news(const Fd& socket) {
  if (mapped_slot_ != nullptr) return;
  if (Status heard = mapped_.hear(socket); !heard.ok() && failure_.ok()) failure_ = std::move(heard);
}

void ReceivingHalf::be_answered(SendingHalf& sending, Partner partner) {
  answering_ = &sending;
  std::atomic_ref(*kept_.partner).store(static_cast<uint64_t>(partner), std::memory_order_relaxed);
}

size_t ReceivingHalf::written() const {
  // Pairs with the release store in SendingHalf::grown().
  const uint64_t word = std::atomic_ref(progress_[receiver_.index()].word).load(std::memory_order_acquire);
  return SlotProgress::bytes(word, receiver_.number());
}

size_t ReceivingHalf::bytes_there(size_t seen) {
  constexpr int kBriefLooks = 1024;
  const Arrival* const oldest = receiver_.peek();
  if (oldest == nullptr) return 0;
  if (!Note::is_gradual(receiver_.note())) return oldest->bytes;
  size_t there = written();
  for (int look = 0; look < kBriefLooks && there <= seen; ++look) there = written();
  return std::min(there, oldest->bytes);
}

const Arrival* ReceivingHalf::peek() {
  const Arrival* const arrival = peek_begun();
  const bool is_partial =
      arrival != nullptr && Note::is_gradual(receiver_.note()) && written() < arrival->bytes;
  return is_partial ? nullptr : arrival;
}

const Arrival* ReceivingHalf::peek_begun() {
  const bool is_new = !receiver_.has_taken();
  const Arrival* const oldest = receiver_.peek();
  if (oldest == nullptr) {
    return_credits();
    return nullptr;
  }
  arrival_.bytes = oldest->bytes;
  arrival_.signature = oldest->signature;
  arrival_.data = find(*oldest, is_new);
  if (arrival_.data == nullptr) return nullptr;
  const bool goes_on = Note::is_gradual(receiver_.note()) && taken_time_.has_begun();
  if (oldest->bytes >= kMinRead && !goes_on && is_sampled(receiver_.number())) taken_time_.begin();
  return &arrival_;
}

/// Where the oldest message's bytes are; null: not available yet, or there is a failure.
const std::byte* ReceivingHalf::find(const Arrival& oldest, bool is_new) {
  const uint64_t note = receiver_.note();
  if (Note::is_in_ring(note)) return find_in_ring(Note::ring_begin(note), oldest.bytes, is_new);
  if (Note::is_posted(note)) {
    if (mapped_slot_ == nullptr) map_slot(oldest);
    return mapped_slot_;
  }
  const uint64_t part = Note::part(note);
  if (part < slots_.parts) return slots_.part(part);
  if (part - slots_.parts < slots_.parts) return answering_->part(part - slots_.parts);
  failure_ = no_part(part, 2 * slots_.parts);
  return nullptr;
}

/// Null, and a failure, if it cannot be there.
const std::byte* ReceivingHalf::find_in_ring(size_t begin, size_t bytes, bool is_new) {
  if (begin + bytes > ShortRing::kBytes) [[unlikely]] {
    failure_ = error(ErrorKind::MessageBroken, "the peer says that message {}, of {} bytes, is at {} of {}",
                     receiver_.number(), bytes, begin, ShortRing::kBytes);
    return nullptr;
  }
  if (is_new) receiver_.foresee(short_ring_ + ShortRing::after(begin, bytes), bytes);
  return short_ring_ + begin;
}

Status ReceivingHalf::no_part(uint64_t part, uint64_t parts) const {
  return error(ErrorKind::MessageBroken, "the peer says that message {} is in slot {} of {}",
               receiver_.number(), part, parts);
}

/// Finds the bytes of a posted message, if they are readable yet.
void ReceivingHalf::map_slot(const Arrival& arrival) {
  const bool is_timed = is_sampled(receiver_.number());
  const int64_t start_ns = is_timed ? now_ns() : 0;
  auto found = find_mapped(arrival);
  if (!found.ok()) failure_ = found.status();
  if (!found.ok() || found.value() == nullptr) return;
  mapped_slot_ = found.value();
  if (is_timed) taken_time_.add(now_ns() - start_ns);
}

/// The address of a posted message's bytes; null: not available yet.
Result<const std::byte*> ReceivingHalf::find_mapped(const Arrival& arrival) {
  const bool is_exported = !Note::is_address(receiver_.note());
  const std::byte* found = nullptr;
  if (is_exported) {
    RONDO_TRY_ASSIGN(found, mapped_.find(receiver_.note(), arrival.bytes));
  }
  if (!reading_.begin_reading())
    return error(ErrorKind::MessageCancelled, "the peer cancelled a posted message");
  return is_exported ? found : read_mapped(arrival);
}

/// Reads a message out of the peer's process, to its expected address if any. If that fails, the peer copies
/// it into the slot.
Result<const std::byte*> ReceivingHalf::read_mapped(const Arrival& arrival) {
  if (!mapped_.can_read())
    return error(ErrorKind::SharingFailed, "a message is in a process that this end does not read");
  const bool is_expected = expected_.place != nullptr && expected_.bytes == arrival.bytes &&
                           expected_.signature == *arrival.signature;
  if (!is_expected && brought_ == nullptr) brought_ = allocate_aligned(slot_bytes_);
  std::byte* const place = is_expected ? expected_.place : brought_.get();
  if (unread_ != receiver_.number()) {
    if (mapped_.read(receiver_.note(), place, arrival.bytes)) return place;
    unread_ = receiver_.number();
  }
  if (mapped_.is_copied(unread_)) {
    const uint64_t part = mapped_.copied_to();
    if (part >= slots_.parts) return no_part(part, slots_.parts);
    return static_cast<const std::byte*>(slots_.part(part));
  }
  reading_.end_reading();
  return nullptr;
}

/// The peer may have made up the offer.
ZeroCopy::Fetched ReceivingHalf::fetch(uint64_t offer, size_t begin, std::byte* place, size_t bytes) {
  using enum ZeroCopy::Fetched;
  if (!Note::is_posted(offer) || begin >= Note::kOffsets) return Refused;
  if (!reading_.begin_reading()) return Cancelled;
  bool is_read = false;
  if (Note::is_address(offer)) {
    is_read = mapped_.can_read() && mapped_.read(offer + begin, place, bytes);
  } else if (const auto found = mapped_.find(offer + begin, bytes); found.ok()) {
    std::memcpy(place, found.value(), bytes);
    is_read = true;
  }
  const bool is_undisturbed = reading_.is_undisturbed();
  reading_.end_reading();
  if (!is_undisturbed) return Cancelled;
  return is_read ? Done : Refused;
}

Status ReceivingHalf::check() const {
  RONDO_TRY(failure_);
  return receiver_.check();
}

}  // namespace rondo::shm
