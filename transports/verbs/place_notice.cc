// SPDX-License-Identifier: Apache-2.0
#include "verbs/place_notice.h"

#include <cstring>
#include <limits>

#include "base/error_kinds.h"

namespace rondo::verbs {
namespace {

Status check(const PlaceOffer& offer, uint64_t end) {
  const bool is_every = offer.message == PlaceOffer::kEvery;
  const bool is_one = offer.message < end && offer.any_signature <= 1;
  const bool is_range = offer.bytes != 0 && offer.at <= std::numeric_limits<uint64_t>::max() - offer.bytes;
  if (is_range && (is_every ? offer.any_signature == 0 : is_one)) return {};
  return error(ErrorKind::MessageBroken, "the peer names a place of {} bytes for message {}, which cannot be",
               offer.bytes, offer.message + 1);
}

}  // namespace

size_t write_notice(std::byte* to, std::span<const NamedPlace> places, size_t pairs) {
  const uint64_t count = places.size();
  std::memcpy(to, &count, sizeof count);
  std::byte* at = to + sizeof count;
  for (const NamedPlace& place : places) {
    std::memcpy(at, &place.offer, sizeof place.offer);
    std::memcpy(at + sizeof place.offer, place.keys.data(), pairs * sizeof(uint32_t));
    at += sizeof place.offer + pairs * sizeof(uint32_t);
  }
  return static_cast<size_t>(at - to);
}

/// The peer can go on writing to it: each byte is read once.
Result<std::span<const NamedPlace>> read_notice(std::span<const std::byte> notice, size_t pairs, uint64_t end,
                                                std::array<NamedPlace, kMaxNamed>& places) {
  uint64_t count = 0;
  if (notice.size() >= sizeof count) std::memcpy(&count, notice.data(), sizeof count);
  if (count == 0 || count > kMaxNamed || notice.size() != notice_bytes(count, pairs))
    return error(ErrorKind::MessageBroken, "the peer's notice of {} places has {} bytes", count,
                 notice.size());
  const std::byte* at = notice.data() + sizeof count;
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(&places[i].offer, at, sizeof places[i].offer);
    std::memcpy(places[i].keys.data(), at + sizeof places[i].offer, pairs * sizeof(uint32_t));
    at += sizeof places[i].offer + pairs * sizeof(uint32_t);
    RONDO_TRY(check(places[i].offer, end));
  }
  return std::span<const NamedPlace>(places.data(), count);
}

}  // namespace rondo::verbs
