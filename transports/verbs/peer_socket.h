// SPDX-License-Identifier: Apache-2.0
// PeerSocket: the socket between the processes of two connected ends. A queue pair is silent about a peer
// that has ended; the socket tells, and a Farewell tells whether the peer closed its end on purpose. Used by
// the connection's thread.
#pragma once

#include <optional>

#include "base/fd.h"
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
  /// Readable when there is something to look at; negative once nothing can come any more.
  int descriptor() const { return closed_ ? -1 : socket_.get(); }

  /// Tells the peer that this end is closed.
  void say_farewell(uint64_t delivered) const;

 private:
  Fd socket_;
  Farewell farewell_;
  size_t got_ = 0;  // bytes of it
  bool closed_ = false;
};

}  // namespace rondo::verbs
