// SPDX-License-Identifier: Apache-2.0
// PeerSocket: the socket between the processes of two connected ends. A queue pair is silent about a peer
// that has ended; the socket tells, a Farewell tells whether the peer closed its end on purpose, and an
// Interruption that it needs another queue pair. Used by the connection's thread.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/fd.h"
#include "verbs/flow_control.h"
#include "verbs/wire.h"

namespace rondo::verbs {

class PeerSocket {
 public:
  PeerSocket() = default;
  explicit PeerSocket(Fd socket) : socket_(std::move(socket)) {}

  /// Reads what has come.
  void look();
  /// Whether the peer closed its end, or ended.
  bool is_closed() const { return closed_; }
  /// How many of its messages had reached this end; empty if the peer ended without saying so.
  std::optional<uint64_t> delivered_by_peer() const;
  /// How far the peer had come when it ended its queue pair, and why it did; empty if it has not.
  struct InterruptedPeer {
    FlowControl::Standing standing;
    std::string reason;
  };
  std::optional<InterruptedPeer> interrupted_by_peer() const;
  /// Readable when there is something to look at; negative once nothing can come any more.
  int descriptor() const { return closed_ ? -1 : socket_.get(); }

  /// Tells the peer that this end is closed, or has ended its queue pair.
  void say_farewell(uint64_t delivered) const;
  void say_interruption(const FlowControl::Standing& own, const std::string& reason) const;
  /// For the ends to connect again, once each has said that it is interrupted.
  Fd take() { return std::move(socket_); }

 private:
  template <class Said>
  std::optional<Said> said() const;

  Fd socket_;
  std::array<std::byte, sizeof(Interruption)> bytes_;
  size_t got_ = 0;  // of those
  bool closed_ = false;
};

}  // namespace rondo::verbs
