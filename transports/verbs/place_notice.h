// SPDX-License-Identifier: Apache-2.0
// A notice, by which a receiver names places: a write like a message, to memory behind the peer's slots. It
// has the number of places, the PlaceOffers, and for each of them the keys to it by queue pair. What comes
// from the peer is checked.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>

#include "base/status.h"
#include "verbs/place_table.h"
#include "verbs/write_order.h"

namespace rondo::verbs {

using PlaceKeys = std::array<uint32_t, kMaxPairs>;  // by queue pair

struct NamedPlace {
  PlaceOffer offer;
  PlaceKeys keys{};
};

constexpr size_t kMaxNamed = 4;      // in a notice
constexpr uint32_t kMaxNotices = 2;  // on their way, or not yet known to have been read
constexpr size_t notice_bytes(size_t places, size_t pairs) {
  return sizeof(uint64_t) + places * (sizeof(PlaceOffer) + pairs * sizeof(uint32_t));
}
constexpr size_t kMaxNoticeBytes = notice_bytes(kMaxNamed, kMaxPairs);

/// Returns the length.
size_t write_notice(std::byte* to, std::span<const NamedPlace> places, size_t pairs);

/// The places in a notice of this length. RemoteError if it cannot be one. `end`: the number behind the last
/// message that may have a place by number.
Result<std::span<const NamedPlace>> read_notice(std::span<const std::byte> notice, size_t pairs, uint64_t end,
                                                std::array<NamedPlace, kMaxNamed>& places);

}  // namespace rondo::verbs
