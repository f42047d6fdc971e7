// SPDX-License-Identifier: Apache-2.0
// ServerHandshake: the listener's side of the handshake for one arriving connection, until it is admitted or
// turned away. On the service thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/event_loop.h"
#include "net/handshake.h"

namespace rondo {

class ServerHandshake {
 public:
  /// Owns the ServerHandshake and decides about the connection.
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
  ServerHandshake(EventLoop& poller, Fd fd, Address from, HandshakeOwner& desk);
  ~ServerHandshake();

  const Address& from() const { return from_; }
  /// True once it has named a session that is known here.
  bool knows_session() const { return talk_ != nullptr; }
  /// Processes the bytes that have arrived; the ServerHandshake may be over afterwards.
  void on_ready();

 private:
  struct Talk;
  bool read_into(void* out, size_t bytes);  // true when complete
  bool send(const void* bytes, size_t count);
  void on_hello();
  void on_claim();
  void turn_away(const std::string& why);

  EventLoop& event_loop_;
  Fd fd_;
  Address from_;
  HandshakeOwner& desk_;
  EventLoop::Timer timer_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<Talk> talk_;  // set once Hello is accepted; the Claim is next
};

}  // namespace rondo
