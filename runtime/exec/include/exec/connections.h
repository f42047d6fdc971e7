// SPDX-License-Identifier: Apache-2.0
// ConnectionTable: a communicator's connections, each made when a plan or a message first needs it. Any
// thread; a connection itself belongs to the thread that carries out the plan or the messages.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "base/background.h"
#include "bootstrap/membership.h"
#include "transports/transport.h"

namespace rondo {

class ConnectionTable {
 public:
  /// `forced`: the only transport to use; null: the best for each pair.
  ConnectionTable(MembershipPtr membership, const Transport* forced, const ConnectionParams& params);
  ~ConnectionTable();

  /// The connection of a Schedule's lane. Does not wait: null while it is being made, to be asked again.
  Result<Connection*> lane(int peer, uint16_t port);
  /// The same, but waits until the peer's process answers.
  Result<Connection*> awaited_lane(int peer, uint16_t port);
  /// The connection for user messages from `source` to `destination`, one of which is the own rank. Like
  /// lane().
  Result<Connection*> messages(int source, int destination);

  /// A Link for memory that the two ranks' GPUs share.
  Result<std::unique_ptr<Link>> gpu_link(int peer, uint16_t port) const;

  /// The transport between the own rank and another, as far as is known: connecting may reveal that the best
  /// one cannot be used.
  Result<const Transport*> transport_to(int peer) const;

  /// Connection::look() of the lanes that calls on host memory use. By the thread that carries them out.
  void look() const;

  /// A line for each connection that exists to a rank of another host, or that has something to say of
  /// itself. No call may be in flight.
  std::string describe() const;

  /// Mismatch that names a call that this rank never made although its data arrived; Ok if there is none.
  Status check_nothing_left() const;

 private:
  using Ends = std::tuple<int, int, uint16_t>;  // dialler, acceptor and port
  using Made = Result<std::unique_ptr<Connection>>;
  using Connecting = Background<Made>;
  ConnectionKey key(int dialler, int acceptor, uint16_t port) const;
  Ends lane_ends(int peer, uint16_t port) const {
    return {std::min(peer, self()), std::max(peer, self()), port};
  }
  Result<Connection*> made_without_waiting(const Ends& ends);
  bool may_wait(const Ends& ends) const;
  Made connect(const Ends& ends);
  Made until_it_answers(const std::function<Made()>& connect) const;
  Made connect_by(const Ends& ends, const Transport& transport, uint32_t attempt) const;
  /// By the first of these transports that connects them. `attempt`: how many others were refused; `refusal`:
  /// why the latest was.
  Made connect_automatically(const Ends& ends, std::span<const Transport> among, uint32_t attempt,
                             const Status& refusal);
  void note_fallback(const Ends& ends, const Transport& used, const Status& refusal);

  Status check_no_arrival(int peer) const;
  Status never_received(int peer) const;

  int self() const { return membership_->rank(); }

  const MembershipPtr membership_;
  const Transport* const forced_;
  const ConnectionParams params_;
  std::atomic<bool> closing_{false};  // connections are not waited for any more
  mutable std::mutex mutex_;          // guards connections_ and connecting_
  std::map<Ends, std::unique_ptr<Connection>> connections_;
  std::map<Ends, std::unique_ptr<Connecting>> connecting_;  // those that are being made
  mutable std::mutex fallback_mutex_;          // guards fallbacks_; taken after mutex_, if both are
  std::map<int, const Transport*> fallbacks_;  // by peer: what is used because better ones were refused
};

}  // namespace rondo
