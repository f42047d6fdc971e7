// SPDX-License-Identifier: Apache-2.0
#include "shm/sending_half.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>

#include "shm/process_reader.h"
#include "topology/cache.h"
#include "transports/gradual_slots.h"

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
      sender_(segment.fifo(direction, params)),
      short_ring_(segment.short_ring(direction, params)),
      ring_(Segment::messages(params)),
      ring_below_(std::min<size_t>(ShortRing::kLongest + 1, params.slot_bytes)),
      slots_(segment.slots(direction, params)),
      picker_(params.slots, MovingParts::kMost, fit_core_cache(params.slots * params.slot_bytes)),
      moving_(segment.kept(direction, params)),
      in_flight_(Segment::messages(params)),
      exporter_(segment.exports(direction, params)),
      progress_(segment.progress(direction, params)),
      ways_(segment.times(direction, params), Segment::messages(params), params.slots),
      posting_(segment.cancel_words(direction, params)) {
  touch(segment.first_pages(direction, params));
  copy_ns_per_byte();  // measured now rather than during a call
  if (read_peer_ == ReadPeer::Never) return;
  exporter_.open_up(socket);
  if (read_peer_ == ReadPeer::IfQuick) is_reading_quick();
}

void SendingHalf::answer(const Segment& segment, int direction, const AgreedParams& params, Partner partner) {
  peers_slots_ = segment.slots(direction, params);
  moving_.answer(segment.kept(direction, params), partner);
}

/// All at once, which takes a fraction of the time that the messages would take to touch them one by one.
void SendingHalf::touch(std::span<std::byte> pages) {
  // If the kernel does not know how, or has too little memory now, they do.
  static_cast<void>(::madvise(pages.data(), pages.size(), MADV_POPULATE_WRITE));
}

std::byte* SendingHalf::acquire_part(size_t bytes) {
  if (picked_.message != sender_.sent() + 1 && !pick_latest(bytes) && !pick_own()) return nullptr;
  ways_.hear(sender_.seen_returned());
  return memory_of(picked_.part);
}

/// Picks the part that has come to this end latest.
bool SendingHalf::pick_latest(size_t bytes) {
  if (bytes < MovingParts::kLeast || (bytes >= kMinRead && !picker_.may_reuse())) return false;
  for (const SlotPart* latest = moving_.latest(); latest != nullptr; latest = moving_.latest()) {
    const auto slot = latest->is_own ? picker_.slot_of_returned(latest->index) : std::optional<uint64_t>(0);
    if (slot) {
      picked_ = {.message = sender_.sent() + 1, .part = *latest, .slot = *slot, .is_latest = true};
      picker_.note_moved();
      return true;
    }
    moving_.forget_latest();  // it has been used since
  }
  return false;
}

bool SendingHalf::pick_own() {
  for (;;) {
    if (picker_.needs_releases(sender_.seen_returned())) sender_.returned(sender_.sent());
    const auto slot = picker_.pick(sender_.seen_returned());
    if (!slot) return false;
    const uint64_t part = picker_.part(*slot);
    const uint64_t user = picker_.user(*slot);
    if (user == 0 || !moving_.is_kept_by_peer(part, user)) {
      picked_ = {.message = sender_.sent() + 1, .part = {part}, .slot = *slot};
      return true;
    }
    picker_.replace(*slot);
  }
}

/// Picks a part of this end's, if the next message has none yet.
bool SendingHalf::has_own() {
  const bool is_own = picked_.message == sender_.sent() + 1 && picked_.part.is_own;
  return is_own || pick_own();
}

/// The next message has the picked part.
void SendingHalf::use_part(size_t bytes) {
  const uint64_t message = sender_.sent() + 1;
  if (picked_.is_latest) moving_.use(picked_.part, message);
  if (picked_.part.is_own)
    picker_.use(picked_.slot, message, bytes);
  else
    picker_.use_peers(message, bytes);
  if (bytes >= MovingParts::kLeast) moving_.sent();
  ring_.pass(message);
}

void SendingHalf::publish_part(size_t bytes, bool gradual, const Signature& signature) {
  use_part(bytes);
  const SlotPart& part = picked_.part;
  const uint64_t noted = part.is_own ? part.index : slots_.parts + part.index;
  sender_.publish(bytes, Note::in_slot(noted, gradual), signature);
}

void SendingHalf::received(uint64_t message, uint64_t note, size_t bytes) {
  const bool is_answer = bytes >= MovingParts::kLeast && moving_.received();
  if (!Note::is_in_slot(note)) return;
  const uint64_t part = Note::part(note);
  if (part >= slots_.parts) {
    picker_.take_back(part - slots_.parts);
    moving_.take_back(part - slots_.parts);
  } else if (is_answer) {
    moving_.keep(part, message, sender_.seen_returned());
  }
}

ZeroCopy::PostMode SendingHalf::post_mode(const std::byte* data, size_t bytes) const {
  using enum ZeroCopy::PostMode;
  const uint64_t note = exporter_.note_for(data, bytes);
  if (note == Note::kNone) return None;
  if (!Note::is_address(note)) return Mapped;
  return read_peer_ == ReadPeer::Always || ways_.reads(sender_.sent() + 1, bytes, picker_) ? Read : None;
}

bool SendingHalf::post(const std::byte* data, size_t bytes, const Signature& signature) {
  const uint64_t message = sender_.sent() + 1;
  const uint64_t note = exporter_.note_for(data, bytes);
  if (!sender_.has_room()) return false;
  // Of a message that is read and not in a slot its receiver would give no part back.
  const bool is_read = Note::is_address(note) && has_own();
  if (note == Note::kNone || (Note::is_address(note) && !is_read)) {
    // Since post_mode() said otherwise, a fork of this process may have ended that the memory is lent.
    if (picked_.message != message && !pick_own()) return false;
    if (note == Note::kNone && !exporter_.stay_ours(data, bytes)) return false;
    in_ring_ = ShortRing::kNowhere;
    std::memcpy(memory_of(picked_.part), data, bytes);
    commit(bytes, signature);
    return true;
  }
  if (is_read) {
    use_part(bytes);  // if the receiver cannot read it
    by_header_.resize(in_flight_);
    by_header_[sender_.index()] = {message, picked_.part.index, data, bytes};
  } else {
    ring_.pass(message);
  }
  sender_.publish(bytes, note, signature);
  if (is_read) ways_.sent_to_be_read(sender_.sent(), bytes, picker_);
  posted_ = sender_.sent();
  return true;
}

/// Whatever number the peer names, copies only a message that was posted by address and is in flight.
void SendingHalf::copy_unread(uint64_t message) {
  if (by_header_.empty() || sender_.returned(message)) return;
  const Posted& posted = by_header_[(message - 1) % in_flight_];
  if (posted.message != message) return;
  std::memcpy(slots_.part(posted.part), posted.data, posted.bytes);
  exporter_.say_copied(message, posted.part);
}

uint64_t SendingHalf::offer(const std::byte* data, size_t bytes) {
  const uint64_t note = exporter_.note_for(data, bytes);
  if (note != Note::kNone) ++offers_;
  return note;
}

void SendingHalf::cancel() {
  by_header_.clear();
  if (offers_ != 0 || !sender_.returned(posted_)) posting_.cancel();
}

void SendingHalf::begin(size_t bytes, const Signature& signature) {
  begun_ = bytes;
  is_overlapped_ = sender_.is_receiver_waiting() && sender_.returned(sender_.sent());
  static_assert(ShortRing::kLongest < GradualSlots::kLeast);
  assert(!is_in_ring());
  publish_part(bytes, true, signature);
}

void SendingHalf::grown(size_t bytes) {
  const uint64_t message = sender_.sent();
  // Pairs with the acquire load in ReceivingHalf::written().
  std::atomic_ref(progress_[(message - 1) % in_flight_].word)
      .store(SlotProgress::of(message, bytes), std::memory_order_release);
  if (bytes < begun_) return;
  ways_.sent_by_slot(message, picker_);
  begun_ = 0;
  is_overlapped_ = false;
}

}  // namespace rondo::shm
