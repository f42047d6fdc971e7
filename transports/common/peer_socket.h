// SPDX-License-Identifier: Apache-2.0
// PeerSocket: the socket between the processes of two ends that are connected by something else, such as a
// queue pair, which is silent about a peer that has ended. The socket tells, a Farewell tells whether the
// peer closed its end on purpose, and an Interruption that the ends must connect again. Used by the
// connection's thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "common/giving_up.h"

namespace rondo {

// What is said on the socket while the ends are connected. Plain data, little-endian.

/// Last: the sender has closed its end.
struct Farewell {
  static constexpr uint32_t kMagic = 0x66627652;  // "Rvbf"

  uint32_t magic = kMagic;
  uint32_t receives = 0;   // that it has posted in all, modulo 2^32, if those wait for messages; else 0
  uint64_t delivered = 0;  // of its messages, how many had reached the other end
  uint64_t arrived = 0;    // messages of the other end, if the sender counts them for it
};

/// The sender has ended what connected it. After the other end has said the same they connect again.
struct Interruption {
  static constexpr uint32_t kMagic = 0x69627652;  // "Rvbi"

  uint32_t magic = kMagic;
  uint32_t pair = 0;      // the queue pair whose path has failed
  uint64_t arrived = 0;   // messages of the other end
  uint64_t released = 0;  // of those, the ones whose slots are free again
  WireText reason{};      // for the log; made printable where it is read
};

class PeerSocket {
 public:
  PeerSocket() = default;
  explicit PeerSocket(Fd socket) : socket_(std::move(socket)) {}
  /// After another reader of the socket has found the peer's last words.
  explicit PeerSocket(const Farewell& farewell);

  /// Reads what has come.
  void look();
  /// Whether the peer closed its end, or ended.
  bool is_closed() const { return closed_; }
  /// What it has said last; empty if the peer ended without a word.
  std::optional<Farewell> farewell() const;
  /// What it has said if it is interrupted.
  std::optional<Interruption> interrupted_by_peer() const;
  /// Readable when there is something to look at; negative once nothing can come any more.
  int descriptor() const { return closed_ ? -1 : socket_.get(); }

  /// Tells the peer that this end is closed, or interrupted. A socket that cannot take it is ended, so that
  /// the peer does not wait for it.
  void say(const Farewell& own) const;
  void say(const Interruption& own) const;
  /// For the ends to connect again, once each has said that it is interrupted.
  Fd take() { return std::move(socket_); }

 private:
  template <class Said>
  std::optional<Said> said() const;

  Fd socket_;
  std::array<std::byte, sizeof(Interruption)> bytes_{};
  size_t got_ = 0;  // of those
  bool closed_ = false;
};

}  // namespace rondo
