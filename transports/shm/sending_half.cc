// SPDX-License-Identifier: Apache-2.0
#include "shm/sending_half.h"

#include <atomic>
#include <cstring>

#include "shm/process_reader.h"
#include "topology/cache.h"

namespace rondo::shm {
namespace {

bool fit_core_cache(size_t bytes) {
  static const size_t core_cache = core_cache_bytes();
  return bytes < core_cache;
}

}  // namespace

SendingHalf::SendingHalf(const Segment& segment, int direction, const AgreedParams& params,
                         ReadPeer read_peer, const Fd& socket)
    : read_peer_(read_peer),
      fifo_(segment.fifo(direction, params)),
      sender_(fifo_),
      picker_(params.slots, fit_core_cache(params.slots * params.slot_bytes)),
      exporter_(segment.exports(direction, params)),
      progress_(segment.progress(direction, params)),
      ways_(segment.times(direction, params), params.slots),
      posting_(segment.cancel_words(direction, params)) {
  copy_ns_per_byte();  // measured now rather than during a call
  if (read_peer_ == ReadPeer::Never) return;
  exporter_.open_up(socket);
  if (read_peer_ == ReadPeer::IfQuick) is_reading_quick();
}

std::byte* SendingHalf::acquire_irregular() {
  const uint64_t message = sender_.sent() + 1;
  if (!sender_.has_room()) return nullptr;
  if (picker_.needs_releases(sender_.index(), sender_.seen_returned())) sender_.returned(sender_.sent());
  ways_.hear(sender_.seen_returned());
  if (part_of_ != message) {
    const auto part = picker_.pick(sender_.index(), sender_.seen_returned());
    if (!part) return nullptr;
    part_ = *part;
    part_of_ = message;
  }
  return fifo_.slot(part_, fifo_.slot_bytes);
}

void SendingHalf::use_part(size_t bytes) {
  if (!picker_.is_regular()) picker_.use(part_, sender_.sent() + 1, bytes, sender_.index());
}

void SendingHalf::publish_slot(size_t bytes, bool gradual, const Signature& signature) {
  use_part(bytes);
  sender_.publish(bytes, Note::in_slot(part_, gradual), signature);
}

ZeroCopy::PostMode SendingHalf::post_mode(const std::byte* data, size_t bytes) const {
  using enum ZeroCopy::PostMode;
  const uint64_t note = exporter_.note_for(data, bytes);
  if (note == Note::kNone) return None;
  if (!Note::is_address(note)) return Mapped;
  return read_peer_ == ReadPeer::Always || ways_.reads(sender_.sent() + 1, bytes, picker_) ? Read : None;
}

bool SendingHalf::post(const std::byte* data, size_t bytes, const Signature& signature) {
  const uint64_t note = exporter_.note_for(data, bytes);
  std::byte* const slot = acquire();
  if (slot == nullptr) return false;
  if (note == Note::kNone) {
    // Since post_mode() said otherwise, a fork of this process has ended that the memory is lent.
    if (!exporter_.stay_ours(data, bytes)) return false;
    std::memcpy(slot, data, bytes);
    commit(bytes, signature);
    return true;
  }
  if (Note::is_address(note)) {
    const uint64_t message = sender_.sent() + 1;
    use_part(bytes);  // if the receiver cannot read it
    by_slot_.resize(fifo_.slots);
    by_slot_[sender_.index()] = {message, part_, data, bytes};
  }
  sender_.publish(bytes, note, signature);
  if (Note::is_address(note)) ways_.sent_to_be_read(sender_.sent(), bytes, picker_);
  posted_ = sender_.sent();
  return true;
}

/// Whatever number the peer names, copies only a message that was posted by address and is in flight.
void SendingHalf::copy_unread(uint64_t message) {
  if (by_slot_.empty() || sender_.returned(message)) return;
  const Posted& posted = by_slot_[(message - 1) % fifo_.slots];
  if (posted.message != message) return;
  std::memcpy(fifo_.slot(posted.part, posted.bytes), posted.data, posted.bytes);
  exporter_.say_copied(message, posted.part);
}

uint64_t SendingHalf::offer(const std::byte* data, size_t bytes) {
  const uint64_t note = exporter_.note_for(data, bytes);
  if (note != Note::kNone) ++offers_;
  return note;
}

void SendingHalf::cancel() {
  by_slot_.clear();
  if (offers_ != 0 || !sender_.returned(posted_)) posting_.cancel();
}

void SendingHalf::begin(size_t bytes, const Signature& signature) {
  begun_ = bytes;
  is_overlapped_ = sender_.is_receiver_waiting() && sender_.returned(sender_.sent());
  publish_slot(bytes, true, signature);
}

void SendingHalf::grown(size_t bytes) {
  const uint64_t message = sender_.sent();
  // Pairs with the acquire load in ReceivingHalf::written().
  std::atomic_ref(progress_[(message - 1) % fifo_.slots].word)
      .store(SlotProgress::of(message, bytes), std::memory_order_release);
  if (bytes < begun_) return;
  ways_.sent_by_slot(message, picker_);
  begun_ = 0;
  is_overlapped_ = false;
}

}  // namespace rondo::shm
