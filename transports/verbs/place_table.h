// SPDX-License-Identifier: Apache-2.0
// PlaceTable: the places that a receiver has named for messages before they were sent. Both ends keep one and
// look each message up in it by the same rules, so that they agree without an answer: a place by number that
// the sender does not know concerns no other message, and one for a signature is known before the first
// message that has it. Pure logic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/signature.h"

namespace rondo::verbs {

/// A place, as its receiver tells the sender.
struct PlaceOffer {
  static constexpr uint64_t kEvery = ~uint64_t{0};

  uint64_t message = kEvery;  // its number, from 0; kEvery: all with the signature, one behind the other
  uint64_t at = 0;
  uint64_t bytes = 0;          // of the message, or of all; with any signature: at most
  uint64_t any_signature = 0;  // 1: whatever its signature; only with a number
  Signature signature;
};
static_assert(sizeof(PlaceOffer) == 72);

/// `Held`: what an end keeps with a place.
template <class Held>
class PlaceTable {
 public:
  static constexpr size_t kMaxStreams = 8;

  /// `window`: how many of the next messages can have places by number.
  explicit PlaceTable(size_t window) : places_(window + kMaxStreams), window_(window) {}

  bool has_free_stream() const {
    return std::any_of(streams(), places_.end(), [](const KeptPlace& one) { return one.is_free(); });
  }
  /// False if there are kMaxStreams already.
  bool add(const PlaceOffer& offer, Held held) {
    auto place = places_.begin() + static_cast<ptrdiff_t>(offer.message % window_);
    if (offer.message == PlaceOffer::kEvery)
      place = std::find_if(streams(), places_.end(), [](const KeptPlace& one) { return one.is_free(); });
    if (place == places_.end()) return false;
    if (place->is_free()) ++used_;
    *place = {offer, std::move(held)};
    return true;
  }

  struct FoundPlace {
    uint64_t at = 0;
    Held* held = nullptr;  // valid until add()
    bool is_last = false;  // message that goes there
  };
  /// The place of the next message, if it has one.
  std::optional<FoundPlace> take(uint64_t message, uint64_t bytes, const Signature& signature) {
    if (used_ == 0) return std::nullopt;
    KeptPlace& numbered = places_[message % window_];
    if (!numbered.is_free() && numbered.offer.message == message) {
      const PlaceOffer offer = std::exchange(numbered.offer, {});
      --used_;
      const bool fits = offer.any_signature != 0 ? bytes <= offer.bytes
                                                 : bytes == offer.bytes && signature == offer.signature;
      if (fits) return FoundPlace{offer.at, &numbered.held, true};
      numbered.held = {};
      return std::nullopt;
    }
    const auto stream = std::find_if(streams(), places_.end(), [&](const KeptPlace& one) {
      return !one.is_free() && bytes <= one.offer.bytes && signature == one.offer.signature;
    });
    if (stream == places_.end()) return std::nullopt;
    const uint64_t at = stream->offer.at;
    stream->offer.at += bytes;
    stream->offer.bytes -= bytes;
    if (stream->is_free()) --used_;
    return FoundPlace{at, &stream->held, stream->is_free()};
  }
  /// Whether no message will go to a place.
  bool is_empty() const { return used_ == 0; }
  /// Nothing is kept with places any more.
  void let_go() {
    for (KeptPlace& one : places_) one.held = {};
  }
  void clear() {
    std::fill(places_.begin(), places_.end(), KeptPlace());
    used_ = 0;
  }

 private:
  struct KeptPlace {
    PlaceOffer offer;
    Held held{};
    bool is_free() const { return offer.bytes == 0; }
  };
  auto streams() { return places_.begin() + static_cast<ptrdiff_t>(window_); }
  auto streams() const { return places_.begin() + static_cast<ptrdiff_t>(window_); }

  std::vector<KeptPlace> places_;  // by number modulo `window`; then those of all messages with a signature
  const size_t window_;
  size_t used_ = 0;
};

}  // namespace rondo::verbs
