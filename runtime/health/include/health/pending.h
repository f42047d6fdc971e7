// SPDX-License-Identifier: Apache-2.0
// PendingMessages: the messages that a rank waits for, and those that have arrived instead, for its error
// messages and for state queries from peers. Plain data; the same bytes in all processes and on all hosts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rondo {

inline constexpr int kAny = -1;  // source or tag

/// An unfinished send or receive, or an arrived message that no receive matches.
struct MessageNote {
  int32_t peer = -1;  // or kAny
  int32_t tag = -1;   // or kAny
};

/// A count of notes, and the first few of them.
struct MessageNotes {
  static constexpr size_t kMaxKept = 4;
  uint32_t count = 0;
  std::array<MessageNote, kMaxKept> kept{};

  void add(const MessageNote& note) {
    if (count < kMaxKept) kept[count] = note;
    ++count;
  }
  /// Those with that peer, of the ones that are kept.
  MessageNotes with(int peer) const {
    MessageNotes some;
    for (size_t i = 0; i < kMaxKept && i < count; ++i)
      if (kept[i].peer == peer) some.add(kept[i]);
    return some;
  }
  bool names(int peer) const { return with(peer).count != 0; }
};

struct PendingMessages {
  MessageNotes receives;
  MessageNotes sends;
  MessageNotes unexpected;  // arrived from a rank from which a receive awaits another tag

  bool none() const { return receives.count == 0 && sends.count == 0; }
  /// Whether a rank with `others` has begun the other end of the first of these, which rank `self` waits for.
  bool is_first_met_by(int self, const PendingMessages& others) const;
  /// The rank that the first of them waits for; kAny: any.
  int peer() const { return receives.count != 0 ? receives.kept[0].peer : sends.kept[0].peer; }
};

/// "recv(from 1, tag 7) and 2 more".
std::string describe(const PendingMessages& messages);
/// "; a message with tag 7 from rank 1 has arrived, but no receive matches it", or empty.
std::string describe_unexpected(const PendingMessages& messages);

}  // namespace rondo
