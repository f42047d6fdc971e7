// SPDX-License-Identifier: Apache-2.0
// The order of a connection's writes over several queue pairs. Writes take turns: write n begins on pair n
// modulo their number. One of 128 KiB and more is striped, a part on each of the pairs that follow, so that a
// message that is alone uses all ports as well; a slot, and so a message, has 208 KiB by default, and parts
// shorter than 64 KiB are not worth a completion. Pairs overtake one another: what arrives counts in the
// order of the writes, each once it is whole, as if one pair had carried them all. So nothing else knows how
// many there are: credits, and what they say about receives, are those of one pair. Pure arithmetic;
// everything the peer says is checked against what it may say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"

namespace rondo::verbs {

constexpr size_t kMaxPairs = 16;  // of a connection

/// What each part of a write says: 16 bits with how many messages were given back so far, 4 bits with the
/// number of parts, 1 bit with whether it is a notice (verbs/place_notice.h), and 11 bits with the number of
/// the write.
struct Immediate {
  static constexpr uint32_t kNumbers = 1U << 11;
  static constexpr uint32_t kNotice = kNumbers;

  uint16_t given_back = 0;
  uint16_t number = 0;  // modulo kNumbers
  uint8_t parts = 1;    // at most kMaxPairs
  bool is_notice = false;

  uint32_t packed() const {
    return uint32_t{given_back} << 16 | (parts - 1U) << 12 | (is_notice ? kNotice : 0) |
           (number & (kNumbers - 1));
  }
  static Immediate of(uint32_t packed) {
    return {static_cast<uint16_t>(packed >> 16), static_cast<uint16_t>(packed % kNumbers),
            static_cast<uint8_t>((packed >> 12) % kMaxPairs + 1), (packed & kNotice) != 0};
  }
};

/// What a write carries. Notices and credits have one part.
enum class WriteKind : uint8_t { Message, Credit, Notice };

/// How a write is divided.
struct Stripes {
  static constexpr uint32_t kMinStriped = 128 * 1024;
  static constexpr uint32_t kMinPart = 64 * 1024;

  uint32_t count = 1;
  uint32_t bytes = 0;  // of each part but the last

  static Stripes of(uint32_t bytes, size_t pairs);
};

inline size_t pair_of(uint64_t write, size_t part, size_t pairs) { return (write + part) % pairs; }

/// Own writes, until they and all before them are complete.
class SendOrder {
 public:
  /// `window`: how many can be on their way.
  explicit SendOrder(size_t window) : window_(window) {}

  uint64_t next_write() const { return sent_; }
  /// `completions`: of all its parts.
  void add(uint32_t completions, WriteKind kind);
  void complete(uint64_t write) { --window_[write % window_.size()].left; }
  /// The next one that is complete, in the order of add().
  std::optional<WriteKind> take_complete();

 private:
  struct SentWrite {
    uint8_t left = 0;  // completions
    WriteKind kind = WriteKind::Message;
  };
  std::vector<SentWrite> window_;
  uint64_t sent_ = 0;
  uint64_t complete_ = 0;
};

/// The peer's writes, until they and all before them have arrived whole.
class ArrivalOrder {
 public:
  /// `window`: how many the peer can have on their way.
  ArrivalOrder(size_t pairs, size_t window) : next_(pairs), window_(window) {}

  /// A part with these bytes has arrived on this pair. RemoteError if it cannot have.
  Status add(size_t pair, Immediate said, uint32_t bytes);
  struct ArrivedWrite {
    uint64_t bytes = 0;
    uint16_t given_back = 0;
    bool is_notice = false;
  };
  /// The next one that has arrived, in the order in which the peer made them.
  std::optional<ArrivedWrite> take_arrived();
  /// On which its beginning arrives.
  size_t next_pair() const { return pair_of(taken_, 0, next_.size()); }

 private:
  struct PartialWrite {
    ArrivedWrite write;
    uint32_t parts = 0;  // 0: nothing has arrived
    uint32_t arrived = 0;
  };
  std::vector<uint64_t> next_;  // by pair: the lowest number that may come next; a pair keeps the order
  std::vector<PartialWrite> window_;
  uint64_t taken_ = 0;
};

}  // namespace rondo::verbs
