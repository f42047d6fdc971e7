// SPDX-License-Identifier: Apache-2.0
// Session: one rank's membership in the group of ranks that a unique id started. Knows all members, connects
// sockets to them, learns of deaths and passes the notices on along the control tree. The communicators of a
// rank share it; it ends with the last of them. Any thread, unless a method says otherwise.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/peer_info.h"
#include "net/handshake.h"

namespace rondo {

class CommState;
class ControlPlane;
class FlightRecorder;
struct FailureNotice;
struct UniqueId;

class Session {
 public:
  /// Joins, with a GPU or none; returns when all ranks have registered and this rank's edges of the control
  /// tree are connected. SystemError if the process that made the id cannot be reached (any more).
  /// `superseded` is polled until that process is reached, `interrupt` while ranks may be missing.
  static Result<std::shared_ptr<Session>> join(const UniqueId& id, int nranks, int rank,
                                               const PeerGpu& device, int64_t timeout_ms,
                                               const Interrupt& superseded, const Interrupt& interrupt);
  /// True if joining failed because the process that made the id cannot be reached; it may have ended.
  static bool is_root_gone(const Status& failure);
  /// A session of one rank, which connects to no other.
  static std::shared_ptr<Session> alone(const PeerGpu& device);
  ~Session();

  uint64_t id() const { return id_; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  const PeerInfo& member(int rank) const { return members_[static_cast<size_t>(rank)]; }
  bool is_on_this_host(int rank) const { return member(rank).endpoint.host == member(rank_).endpoint.host; }
  /// How to reach the process of another rank.
  Route route_to(int rank) const { return is_on_this_host(rank) ? Route::Unix : Route::Tcp; }

  /// A socket to another rank's process, for the given purpose; its `from_rank` and `to_rank` are filled in.
  Result<Fd> dial(int rank, Route route, ConnectRequest purpose, const Deadline& deadline,
                  const Interrupt& interrupt, Contact* contact = nullptr);
  /// The Data socket that arrived for (communicator, from_rank, port, index), and in `purpose` the route that
  /// its dialler stated; invalid until it has arrived.
  Fd arrived(ConnectRequest& purpose);

  /// A communicator that receives failure notices and state queries. attach() delivers earlier notices at
  /// once.
  struct Attachment {
    uint64_t communicator = 0;
    std::vector<int> ranks;  // of the session, by the communicator's ranks
    std::shared_ptr<CommState> health;
    std::shared_ptr<FlightRecorder> recorder;
    std::string transports;  // "shm to 3 ranks"
    bool finished = false;
  };
  void attach(Attachment attachment);
  void detach(uint64_t communicator);
  /// This rank's recorder on another communicator; null if it is not a member.
  std::shared_ptr<FlightRecorder> recorder_of(uint64_t communicator);
  /// The first of these ranks that was reported to have died or left; -1: none.
  int first_gone(std::span<const int> ranks);
  bool is_gone(int rank) { return first_gone({&rank, 1}) >= 0; }
  /// The sequence number of the last call, on a communicator, of a rank (of the session) that has left;
  /// nullopt if it has not left, has died, or ended the communicator long before.
  std::optional<uint32_t> last_call(int rank, uint64_t communicator);
  /// This rank makes no more calls on the communicator.
  void finish(uint64_t communicator);
  /// This rank calls rondo_leave() on the communicator and makes no more calls on it. Ranks that ask about it
  /// are told, also after detach(). `latest`: the sequence number of its last call.
  void leave(uint64_t communicator, uint32_t latest);
  /// True if every other attached communicator has finished.
  bool is_last(uint64_t communicator);

  /// This rank has joined but cannot start: the others get the cause.
  void give_up(const Status& cause);

  /// Sends the notice to every rank.
  void notify(const FailureNotice& notice);

  /// Waits until every notice that other ranks already know has arrived here, or `health` has failed, or the
  /// time has run out, which it answers with false: a stopped rank passes nothing on.
  bool await_news(int64_t at_most_ms, const CommState& health);

  static constexpr uint64_t kWorld = 1;  // the communicator of all ranks
  /// Waits up to `for_ms` until all ranks have finished kWorld, if that is the communicator, or else all
  /// their communicators. Returns whether they have.
  Result<bool> await_ends(uint64_t communicator, int64_t for_ms, const Interrupt& interrupt);
  /// The addresses at which other hosts may reach this process, as "eth0 10.0.0.1, ib0 10.1.0.1"; "none".
  std::string interfaces_text() const;
  /// Leaves, which the other ranks do not treat as a death. Waits at most half a second until the neighbours
  /// in the control tree know, and not for other ranks' calls. A rank that later waits for this one finds
  /// that it has left.
  void depart();

 private:
  explicit Session(std::unique_ptr<ControlPlane> control);

  const std::unique_ptr<ControlPlane> control_;
  const uint64_t id_;
  const int rank_;
  const std::span<const PeerInfo> members_;  // control_'s
};

}  // namespace rondo
