// SPDX-License-Identifier: Apache-2.0
// Context: the per-process state that all communicators share: the service thread and the listening sockets
// at which other ranks reach the process. Created at first use and destroyed with the last reference, leaving
// nothing behind. Any thread.
#pragma once

#include <map>
#include <memory>

#include "base/disowned.h"
#include "bootstrap/peer_info.h"
#include "net/event_loop.h"
#include "net/interfaces.h"
#include "net/pending_handshakes.h"
#include "net/rate_limited_warnings.h"

namespace rondo {

class Context : private HandshakeOwner {
 public:
  static Result<std::shared_ptr<Context>> get();
  ~Context() override;

  /// The PeerInfo of this process; the caller fills in the rank.
  PeerInfo self() const;
  const std::vector<Interface>& interfaces() const { return interfaces_; }
  EventLoop& event_loop() { return *event_loop_; }
  /// On the service thread.
  RateLimitedWarnings& complaints() { return *complaints_; }

  static constexpr int kRoot = -1;                               // the bootstrap root, as opposed to any rank
  using Admit = std::function<void(const ConnectRequest&, Fd)>;  // on the service thread
  /// From now on, connections of this session for this rank (or kRoot) go to `admit`.
  void open(const Credentials& credentials, int rank, Admit admit);
  /// `admit` is not called after this returns.
  void close(uint64_t session, int rank);

  /// Accepts connections at this listener too, until stop_listening().
  void listen_at(const Fd& listener);
  void stop_listening(const Fd& listener);

 private:
  struct Acceptor {
    Secret secret;
    Admit admit;
  };
  Context() = default;
  Status listen();
  void greet(const Fd& listener);
  void pause(const Fd& listener);
  bool make_room(const Fd& listener, int error_number);
  const Secret* secret_of(uint64_t session) override;
  bool expects(uint64_t session, int rank) override { return doors_.contains({session, rank}); }
  void admit(uint64_t session, const ConnectRequest& purpose, Fd fd) override;
  void turned_away(const std::string& why, const Address& from) override;
  void over(ServerHandshake* greeting) override { handshakes_->erase(greeting); }

  InUse in_use_;
  uint64_t process_ = 0;
  uint64_t host_ = 0;
  uint16_t tcp_port_ = 0;
  std::string host_name_;
  std::vector<Interface> interfaces_;
  Fd tcp_listener_;
  Fd unix_listener_;
  std::unique_ptr<EventLoop> event_loop_;
  // On the service thread only:
  std::map<std::pair<uint64_t, int>, Acceptor> doors_;
  std::unique_ptr<RateLimitedWarnings> complaints_;
  std::unique_ptr<PendingHandshakes> handshakes_;
  std::map<int, EventLoop::Timer> pauses_;  // of listeners, by descriptor
};

}  // namespace rondo
