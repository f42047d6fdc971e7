// SPDX-License-Identifier: Apache-2.0
// PendingHandshakes: the connections that have arrived and have not yet proved that they know the secret.
// Their number is limited: a newcomer replaces the one that has been silent longest among those of the
// address that has the most. So silent strangers never keep a rank out, and never take the descriptors that
// ranks need. On the service thread.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>

#include "net/event_loop.h"
#include "net/handshake.h"

namespace rondo {

class ServerHandshake;

/// Decides about the connections that have arrived, and owns their PendingHandshakes.
class HandshakeOwner {
 public:
  virtual ~HandshakeOwner() = default;
  /// Null: the session is not known here.
  virtual const Secret* secret_of(uint64_t session) = 0;
  virtual bool expects(uint64_t session, int rank) = 0;
  virtual void admit(uint64_t session, const ConnectRequest& purpose, Fd fd) = 0;
  virtual void turned_away(const std::string& why, const Address& from) = 0;
  /// The ServerHandshake has ended, and may be destroyed once its handler has returned.
  virtual void over(ServerHandshake* greeting) = 0;
};

class PendingHandshakes {
 public:
  PendingHandshakes(EventLoop& poller, HandshakeOwner& desk);
  ~PendingHandshakes();

  /// Adds a connection that has arrived. False: another one was dropped to make room.
  bool add(Fd fd, const Address& from);
  /// Drops one. False: there is none.
  bool drop_one();
  void erase(const ServerHandshake* greeting);

 private:
  bool is_full(int newest_fd) const;

  EventLoop& event_loop_;
  HandshakeOwner& desk_;
  std::list<std::unique_ptr<ServerHandshake>> waiting_;  // oldest first
  std::map<IpAddress, int> by_source_;                   // their number, by source_of()
};

}  // namespace rondo
