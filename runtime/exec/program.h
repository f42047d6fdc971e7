// SPDX-License-Identifier: Apache-2.0
// Program: a Schedule bound to one rank's connections. Immutable once it is bound; read by the executor on
// the thread that runs the call.
#pragma once

#include <vector>

#include "schedule/schedule.h"
#include "transports/connection.h"
#include "transports/zero_copy.h"

namespace rondo {

class Program {
 public:
  Program(const Shape& shape, Schedule schedule);
  /// Binds it. `connect(peer, port)` returns the connection that a lane's Steps use, which must outlive the
  /// Program; null: it is being made. Returns the peer whose connection is being made, after which this has
  /// to be called again; -1: it is bound.
  template <typename Connect>
  Result<int> bind(Connect&& connect) {
    for (; bound_lanes_ < schedule_.lanes.size(); ++bound_lanes_, bound_peers_ = 0) {
      const std::vector<int> peers = peers_of(bound_lanes_);
      for (; bound_peers_ < peers.size(); ++bound_peers_) {
        const int peer = peers[bound_peers_];
        RONDO_TRY_ASSIGN(Connection* const connection, connect(peer, schedule_.lanes[bound_lanes_].port));
        if (connection == nullptr) return peer;
        adopt(bound_lanes_, peer, connection);
      }
    }
    return -1;
  }

  const Schedule& schedule() const { return schedule_; }

  /// The place of the value that a Step sends: an Input that it sends unchanged, even if it copies that too;
  /// else its destination, if any, or a source that it sends without receiving. No buffer if the value is
  /// only in slots.
  static Ref value_place(const Step& step);

  /// The connections to the ranks of a peer set, in its order; null for the own rank.
  const std::vector<Connection*>& connections(size_t lane, uint16_t set) const {
    return connections_[lane * schedule_.peer_sets.size() + set];
  }
  /// Every connection once.
  const std::vector<Connection*>& all_connections() const { return all_; }
  /// The smallest slot size of all connections; 0 if there are none.
  size_t slot_bytes() const;

  /// Whether the memory that holds the value of a sending Step remains unchanged until its peers have taken
  /// the message, so that they may read it there.
  bool stable(size_t lane, size_t step, bool in_place) const {
    return (in_place ? stable_in_place_ : stable_)[lane][step];
  }
  /// Whether what a Step receives and only copies may land at its place at any time after the call has begun,
  /// because no Step of this rank still needs what is there.
  bool may_land_early(size_t lane, size_t step, bool in_place) const {
    return (in_place ? early_in_place_ : early_)[lane][step];
  }
  /// Whether a Step writes to the Output what no Step reads from there.
  bool settles(size_t lane, size_t step) const { return settled_[lane][step]; }
  /// Of the connections that stable Steps send on, those that can post.
  const std::vector<ZeroCopy*>& posting_connections(bool in_place) const {
    return in_place ? posting_in_place_ : posting_;
  }

 private:
  std::vector<int> peers_of(size_t lane) const;
  void adopt(size_t lane, int peer, Connection* connection);
  bool posts(size_t lane, int peer, bool in_place) const;

  Schedule schedule_;
  size_t bound_lanes_ = 0;
  size_t bound_peers_ = 0;                             // of the next lane
  std::vector<std::vector<Connection*>> connections_;  // [lane * sets + set]
  std::vector<Connection*> all_;
  std::vector<std::vector<bool>> stable_;
  std::vector<std::vector<bool>> stable_in_place_;
  std::vector<std::vector<bool>> early_;
  std::vector<std::vector<bool>> early_in_place_;
  std::vector<std::vector<bool>> settled_;
  std::vector<ZeroCopy*> posting_;
  std::vector<ZeroCopy*> posting_in_place_;
};

}  // namespace rondo
