// SPDX-License-Identifier: Apache-2.0
// ServerHandshake: the listener's side of the handshake for one arriving connection, until it is admitted or
// turned away. On the service thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pending_handshakes.h"

namespace rondo {

class ServerHandshake {
 public:
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
