// SPDX-License-Identifier: Apache-2.0
#include "verbs/places.h"

#include <algorithm>
#include <utility>

#include "base/error_kinds.h"

namespace rondo::verbs {
namespace {

/// How many messages may have places before they are sent. More than slots: a message that takes the slot of
/// the last one that was released should find its place known.
size_t window_of(uint64_t slots) { return std::min<uint64_t>(2 * slots, 16); }

}  // namespace

NamedPlaces::NamedPlaces(uint64_t slots) : window_(window_of(slots)), table_(window_) {
  untold_.reserve(window_ + PlaceTable<PairRegions>::kMaxStreams);
}

size_t NamedPlaces::room(uint64_t released) const {
  const uint64_t ahead = std::max(counted_, released) - released;
  return ahead < window_ ? window_ - ahead : 0;
}

uint64_t NamedPlaces::count_next(uint64_t released) {
  counted_ = std::max(counted_, released);
  return counted_++;
}

void NamedPlaces::add(const PlaceOffer& offer, PairRegions regions) {
  NamedPlace place{.offer = offer};
  for (size_t i = 0; i < regions.size(); ++i) place.keys[i] = regions[i]->remote_key();
  if (table_.add(offer, std::move(regions))) untold_.push_back(place);
}

/// With credits, or several together; but the first at once.
bool NamedPlaces::must_notify(uint64_t arrived, bool gives_back) {
  std::erase_if(untold_, [&](const NamedPlace& place) { return place.offer.message < arrived; });
  if (untold_.empty() || !can_notify()) return false;
  const size_t enough = std::min((window_ + 1) / 2, kMaxNamed);
  return gives_back || untold_.size() >= enough || arrived >= told_until_;
}

size_t NamedPlaces::write_notice(std::byte* to, size_t pairs) {
  const std::span<const NamedPlace> places(untold_.data(), std::min(untold_.size(), kMaxNamed));
  for (const NamedPlace& place : places)
    if (place.offer.message != PlaceOffer::kEvery) told_until_ = place.offer.message + 1;
  const size_t bytes = verbs::write_notice(to, places, pairs);
  untold_.erase(untold_.begin(), untold_.begin() + static_cast<ptrdiff_t>(places.size()));
  ++sent_;
  return bytes;
}

Status NamedPlaces::acknowledge(uint32_t read) {
  const auto more = static_cast<uint32_t>(read - static_cast<uint32_t>(read_));
  if (more > sent_ - read_)
    return error(ErrorKind::MessageBroken, "the peer says that it has read {} notices, of {}", read, sent_);
  read_ += more;
  return {};
}

NamedPlaces::TakenPlace NamedPlaces::take(uint64_t message, uint64_t bytes, const Signature& signature) {
  const auto found = table_.take(message, bytes, signature);
  if (!found) return {};
  TakenPlace taken{.at = reinterpret_cast<std::byte*>(found->at)};
  if (found->is_last) taken.regions.swap(*found->held);
  return taken;
}

void NamedPlaces::restart() {
  untold_.clear();
  table_.let_go();
  sent_ = read_ = complete_ = told_until_ = 0;
}

KnownPlaces::KnownPlaces(uint64_t slots) : window_(window_of(slots)), table_(window_) {}

Status KnownPlaces::add(std::span<const std::byte> notice, size_t pairs, uint64_t sent) {
  if (read_ - told_ == kMaxNotices)
    return error(ErrorKind::MessageBroken, "the peer sent notice {} before notice {} was answered", read_ + 1,
                 told_ + 1);
  ++read_;
  std::array<NamedPlace, kMaxNamed> read;
  RONDO_TRY_ASSIGN(const auto places, read_notice(notice, pairs, sent + window_, read));
  for (const NamedPlace& place : places) {
    if (place.offer.message != PlaceOffer::kEvery) until_ = place.offer.message + 1;
    if (place.offer.message >= sent && !table_.add(place.offer, place.keys))
      return error(ErrorKind::MessageBroken, "the peer names places for too many messages at once");
  }
  return {};
}

KnownPlaces::PeerPlace KnownPlaces::take(uint64_t message, uint64_t bytes, const Signature& signature) {
  const auto found = table_.take(message, bytes, signature);
  if (!found || bytes < kMinPlaced) return {};
  return {found->at, found->held};
}

uint32_t KnownPlaces::tell_read() {
  told_ = read_;
  return static_cast<uint32_t>(told_);
}

void KnownPlaces::restart() {
  table_.clear();
  until_ = read_ = told_ = 0;
}

}  // namespace rondo::verbs
