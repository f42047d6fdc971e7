// SPDX-License-Identifier: Apache-2.0
// PendingHandshakes: the connections that have arrived and have not yet proved that they know the secret.
// Their number is limited: a newcomer replaces the one that has been silent longest among those of the
// address that has the most. So silent strangers never keep a rank out, and never take the descriptors that
// ranks need. On the service thread.
#pragma once

#include <list>
#include <map>
#include <memory>

#include "net/server_handshake.h"

namespace rondo {

class PendingHandshakes {
 public:
  PendingHandshakes(EventLoop& poller, ServerHandshake::HandshakeOwner& desk)
      : event_loop_(poller), desk_(desk) {}

  /// Adds a connection that has arrived. False: another one was dropped to make room.
  bool add(Fd fd, const Address& from);
  /// Drops one. False: there is none.
  bool drop_one();
  void erase(const ServerHandshake* greeting);

 private:
  bool is_full(int newest_fd) const;

  EventLoop& event_loop_;
  ServerHandshake::HandshakeOwner& desk_;
  std::list<std::unique_ptr<ServerHandshake>> waiting_;  // oldest first
  std::map<IpAddress, int> by_source_;                   // their number, by source_of()
};

}  // namespace rondo
