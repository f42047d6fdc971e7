// SPDX-License-Identifier: Apache-2.0
// The places of a connection's messages: NamedPlaces at the receiving end, KnownPlaces at the sending one. A
// place that becomes known after its message was sent costs a copy, and nothing waits for one. Used by the
// connection's thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "verbs/place_notice.h"
#include "verbs/region.h"

namespace rondo::verbs {

/// Shorter messages always go to slots: copying them takes no longer than a second write.
constexpr uint64_t kMinPlaced = uint64_t{16} * 1024;

/// As a number behind that of the last message with a place: there may be places for all.
constexpr uint64_t kPlacedForever = ~uint64_t{0};

/// The regions of a connection's devices that hold some bytes of the user's, by queue pair.
using PairRegions = std::vector<std::shared_ptr<const Region>>;

class NamedPlaces {
 public:
  explicit NamedPlaces(uint64_t slots);

  /// How many of the messages that have not been released were not counted yet, of those that may be.
  size_t room(uint64_t released) const;
  /// The number of the next message, which then is counted.
  uint64_t count_next(uint64_t released);
  /// The regions are kept until the message has arrived.
  void add(const PlaceOffer& offer, PairRegions regions);
  /// Whether a place for all messages with a signature can be added and told at once.
  bool takes_stream() const { return table_.has_free_stream() && can_notify() && untold_.size() < kMaxNamed; }
  /// Whether it is time to tell the peer of places. Those of messages that have arrived by now (`arrived` of
  /// them) are not told. `gives_back`: messages must be given back anyway.
  bool must_notify(uint64_t arrived, bool gives_back);
  /// The next notice. Returns its length.
  size_t write_notice(std::byte* to, size_t pairs);
  /// The number of the next notice, from 0.
  uint64_t notices() const { return sent_; }
  void complete_notice() { ++complete_; }
  /// The peer says that it has read this many. RemoteError if it cannot have.
  Status acknowledge(uint32_t read);

  struct TakenPlace {
    std::byte* at = nullptr;  // null: no place was named for the message
    PairRegions regions;      // with the last message that goes there, unless the queue pairs have ended
  };
  /// Where a message was to go.
  TakenPlace take(uint64_t message, uint64_t bytes, const Signature& signature);
  bool is_empty() const { return table_.is_empty(); }
  /// The number behind the last message of which the peer knows a place.
  uint64_t until() const { return is_empty() ? told_until_ : kPlacedForever; }
  /// The queue pairs have ended, and over others the peer knows of no places; those of messages that have
  /// arrived stay.
  void restart();

 private:
  bool can_notify() const { return sent_ - std::min(read_, complete_) < kMaxNotices; }

  const size_t window_;
  PlaceTable<PairRegions> table_;
  std::vector<NamedPlace> untold_;
  uint64_t counted_ = 0;     // messages
  uint64_t told_until_ = 0;  // the number behind the last message of which the peer was told a place
  uint64_t sent_ = 0;        // notices; so are these
  uint64_t read_ = 0;
  uint64_t complete_ = 0;
};

class KnownPlaces {
 public:
  explicit KnownPlaces(uint64_t slots);

  /// Takes in a notice; `sent`: messages. RemoteError if it makes no sense.
  Status add(std::span<const std::byte> notice, size_t pairs, uint64_t sent);
  struct PeerPlace {
    uint64_t at = 0;
    const PlaceKeys* keys = nullptr;  // until add(); null: the message goes to its slot
  };
  /// Of the next message.
  PeerPlace take(uint64_t message, uint64_t bytes, const Signature& signature);
  /// As NamedPlaces.
  uint64_t until() const { return table_.is_empty() ? until_ : kPlacedForever; }
  /// The number of the next notice, from 0.
  uint64_t notices() const { return read_; }
  /// What the next message says of them.
  uint32_t tell_read();
  /// As NamedPlaces.
  void restart();

 private:
  const size_t window_;
  PlaceTable<PlaceKeys> table_;
  uint64_t until_ = 0;
  uint64_t read_ = 0;
  uint64_t told_ = 0;
};

}  // namespace rondo::verbs
