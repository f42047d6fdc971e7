// SPDX-License-Identifier: Apache-2.0
// FakeLink: replaces the runtime's authenticated sockets. Two links share a Wire: one dials over a socketpair
// or loopback TCP, and the other accepts. Each link belongs to one thread, the Wire to both.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "transports/transport.h"

namespace rondo::test {

/// Two connected non-blocking sockets.
std::pair<Fd, Fd> connected_sockets(Route route);

/// Sockets in transit from the dialling end to the accepting end.
class Wire {
 public:
  void put(int index, Fd socket);
  Fd take(int index);  // invalid if it has not arrived or is held
  /// While held, no socket arrives.
  void hold(bool held);
  /// Makes sockets that are dialled later, so that a process that is forked before has the other ends.
  void prepare(Route route, int sockets);
  Fd take_prepared(int index);  // invalid if there is none

 private:
  std::mutex mutex_;
  std::map<int, Fd> arriving_;
  std::map<int, Fd> prepared_;
  bool held_ = false;
};

/// A key that no other test uses.
ConnectionKey new_key(int dialler = 0, int acceptor = 1);

class FakeLink : public Link {
 public:
  FakeLink(std::shared_ptr<Wire> wire, const ConnectionKey& key, bool dials)
      : wire_(std::move(wire)), key_(key), dials_(dials) {}

  const ConnectionKey& key() const override { return key_; }
  int self() const override { return dials_ ? key_.dialler : key_.acceptor; }
  int peer() const override { return dials_ ? key_.acceptor : key_.dialler; }
  Result<Fd> dial(Route route, int index) override;
  Result<Fd> accepted(int index) override { return wire_->take(index); }

 private:
  std::shared_ptr<Wire> wire_;
  ConnectionKey key_;
  bool dials_;
};

}  // namespace rondo::test
