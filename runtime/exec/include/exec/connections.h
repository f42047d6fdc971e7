// SPDX-License-Identifier: Apache-2.0
// ConnectionTable: a communicator's connections, each made when a plan or a message first needs it. Any
// thread; a connection itself belongs to the thread that carries out the plan or the messages.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "bootstrap/membership.h"
#include "transports/transport.h"

namespace rondo {

class ConnectionTable {
 public:
  /// `forced`: the only transport to use; null: the best for each pair.
  ConnectionTable(MembershipPtr membership, const Transport* forced, const ConnectionParams& params)
      : membership_(std::move(membership)), forced_(forced), params_(params) {}

  /// The connection of a Schedule's lane.
  Result<Connection*> lane(int peer, uint16_t port);
  /// The connection for user messages from `source` to `destination`, one of which is the own rank.
  Result<Connection*> messages(int source, int destination);

  /// A Link for memory that the two ranks' GPUs share.
  Result<std::unique_ptr<Link>> gpu_link(int peer, uint16_t port) const;

  /// The transport for a pair of ranks.
  Result<const Transport*> transport_for(int rank_a, int rank_b) const;

  /// Mismatch that names a call that this rank never made although its data arrived; Ok if there is none.
  Status check_nothing_left() const;

 private:
  ConnectionKey key(int dialler, int acceptor, uint16_t port) const;
  Result<Connection*> get(int dialler, int acceptor, uint16_t port);

  int self() const { return membership_->rank(); }

  const MembershipPtr membership_;
  const Transport* const forced_;
  const ConnectionParams params_;
  mutable std::mutex mutex_;  // guards connections_
  std::map<std::tuple<int, int, uint16_t>, std::unique_ptr<Connection>> connections_;
};

}  // namespace rondo
