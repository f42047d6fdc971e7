// Program: a Schedule bound to one rank's connections. Immutable, made once a plan; read by the executor on
// the thread that runs the call.
#pragma once

#include <vector>

#include "schedule/schedule.h"
#include "transports/connection.h"

namespace rondo {

class Program {
 public:
  /// `connect(peer, port)` gives the connection that a lane's Steps use; it outlives the Program.
  template <typename Connect>
  static Result<Program> bind(const Shape& shape, Schedule schedule, Connect&& connect) {
    Program program(shape, std::move(schedule));
    for (size_t lane = 0; lane < program.schedule_.lanes.size(); ++lane) {
      for (int peer : program.peers_of(lane)) {
        RONDO_TRY_ASSIGN(Connection * connection, connect(peer, program.schedule_.lanes[lane].port));
        program.adopt(lane, peer, connection);
      }
    }
    return program;
  }

  const Schedule& schedule() const { return schedule_; }

  /// Where the value lies that a Step sends: in the source that it sends unchanged, also where it copies
  /// that, or in its destination. Of no buffer where it lies in slots alone.
  static Ref value_place(const Step& step);

  /// The connections to the ranks of a peer set, in its order; null at the place of the own rank.
  const std::vector<Connection*>& connections(size_t lane, uint16_t set) const {
    return connections_[lane * schedule_.peer_sets.size() + set];
  }
  /// Every connection once.
  const std::vector<Connection*>& all_connections() const { return all_; }
  /// The least slot of all connections; 0 where there are none.
  size_t slot_bytes() const;

  /// Whether the memory that holds the value of a sending Step stays as it is to the call's end, so that a
  /// peer may read it there.
  bool stable(size_t lane, size_t step, bool in_place) const {
    return (in_place ? stable_in_place_ : stable_)[lane][step];
  }
  /// Whether a Step's destination is the Output, and no other Step reads it there.
  bool settles(size_t lane, size_t step) const { return settled_[lane][step]; }
  /// The connections that stable Steps send on.
  const std::vector<Connection*>& posting_connections(bool in_place) const {
    return in_place ? posting_in_place_ : posting_;
  }

 private:
  Program(const Shape& shape, Schedule schedule);
  std::vector<int> peers_of(size_t lane) const;
  void adopt(size_t lane, int peer, Connection* connection);
  bool posts(size_t lane, int peer, bool in_place) const;

  Schedule schedule_;
  std::vector<std::vector<Connection*>> connections_;  // [lane * sets + set]
  std::vector<Connection*> all_;
  std::vector<std::vector<bool>> stable_;
  std::vector<std::vector<bool>> stable_in_place_;
  std::vector<std::vector<bool>> settled_;
  std::vector<Connection*> posting_;
  std::vector<Connection*> posting_in_place_;
};

}  // namespace rondo
