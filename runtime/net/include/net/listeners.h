// SPDX-License-Identifier: Apache-2.0
// Listeners: the sockets at which other processes reach this one. A connection that arrives has to prove that
// it knows a session's secret, and is then passed to the session's owner here. Strangers may be many:
// the connections that have proved nothing are limited in number, and warnings about them in rate. Any thread
// but the service thread, except as noted.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/event_loop.h"
#include "net/handshake.h"

namespace rondo {

class Listeners {
 public:
  explicit Listeners(EventLoop& event_loop);
  ~Listeners();

  static constexpr int kRoot = -1;                               // the bootstrap root, as opposed to any rank
  using Admit = std::function<void(const ConnectRequest&, Fd)>;  // on the service thread
  /// From now on, connections of this session for this rank (or kRoot) go to `admit`.
  void open(const Credentials& credentials, int rank, Admit admit);
  /// `admit` is not called after this returns.
  void close(uint64_t session, int rank);

  /// Accepts connections at this listener until remove(), or to the end.
  void add(const Fd& listener);
  void remove(const Fd& listener);

  /// Warns of what strangers can cause at any rate: the first of a kind at once, then a count once a minute.
  /// On the service thread.
  void warn(const std::string& kind, const std::string& text);

 private:
  class Reception;
  EventLoop& event_loop_;
  std::unique_ptr<Reception> reception_;  // on the service thread only
};

}  // namespace rondo
