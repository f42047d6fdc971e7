// PendingMessages: what a rank that waits for messages waits for, and what has come instead, for its errors
// and for peers that ask. Plain data; the same bytes between processes and hosts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rondo {

/// A send or receive that is not over, or a message that nobody has asked for.
struct MessageNote {
  int32_t peer = -1;  // or kAny
  int32_t tag = -1;   // or kAny
};

/// Notes of which the first few are kept.
struct MessageNotes {
  static constexpr size_t kMaxKept = 4;
  uint32_t count = 0;
  std::array<MessageNote, kMaxKept> kept{};

  void add(const MessageNote& note) {
    if (count < kMaxKept) kept[count] = note;
    ++count;
  }
  bool names(int peer) const {
    for (size_t i = 0; i < kMaxKept && i < count; ++i)
      if (kept[i].peer == peer) return true;
    return false;
  }
};

struct PendingMessages {
  MessageNotes receives;
  MessageNotes sends;
  MessageNotes unasked;  // from where a receive waits for one with another tag

  bool none() const { return receives.count == 0 && sends.count == 0; }
  /// The rank that the first of them waits for; kAny: any.
  int peer() const { return receives.count != 0 ? receives.kept[0].peer : sends.kept[0].peer; }
};

/// "recv(from 1, tag 7)", with how many others wait beside it.
std::string describe(const PendingMessages& messages);
/// "; a message with tag 7 of rank 1 has come and nobody asked for it", or nothing.
std::string describe_unasked(const PendingMessages& messages);

}  // namespace rondo
