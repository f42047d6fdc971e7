// ConnectionTable: a communicator's connections, each made when a plan or a message first needs it. Any
// thread; a connection itself belongs to whoever carries out the plan or the messages.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "comm/health.h"
#include "comm/session.h"
#include "transports/transport.h"

namespace rondo {

class ConnectionTable {
 public:
  struct Settings {
    const Transport* forced = nullptr;  // null: the best that a pair can use
    ConnectionParams params;
    int64_t timeout_ms = 0;  // of making a connection
  };
  /// `ranks`: the communicator's ranks in the session; `self` is a rank of the communicator.
  ConnectionTable(std::shared_ptr<Session> session, uint64_t communicator, std::vector<int> ranks, int self,
                  std::shared_ptr<Health> health, Settings settings);

  /// The connection of a Schedule's lane.
  Result<Connection*> lane(int peer, uint16_t port);
  /// The connection that carries messages of users from `source` to `destination`; one of them is the own
  /// rank.
  Result<Connection*> messages(int source, int destination);

  /// For memory that the two ranks' GPUs share.
  Result<std::unique_ptr<Link>> gpu_link(int peer, uint16_t port) const;

  /// The transport for a pair of ranks.
  Result<const Transport*> transport_for(int rank_a, int rank_b) const;

  /// Names a call whose data came and that this rank never made; Ok where there is none.
  Status check_nothing_left() const;

 private:
  ConnectionKey key(int dialler, int acceptor, uint16_t port) const;
  Result<Connection*> get(int dialler, int acceptor, uint16_t port);

  std::shared_ptr<Session> session_;
  uint64_t communicator_;
  std::vector<int> ranks_;
  int self_;
  std::shared_ptr<Health> health_;
  Settings settings_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::tuple<int, int, uint16_t>, std::unique_ptr<Connection>> connections_;
};

}  // namespace rondo
