// SPDX-License-Identifier: Apache-2.0
// Session: one rank's membership in the group of ranks that a unique id started. Knows all members, connects
// sockets to them, learns of deaths and passes the notices on along the control tree. The communicators of a
// rank share it; it ends with the last of them. Any thread, unless a method says otherwise.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <tuple>

#include "bootstrap/bootstrap_root.h"
#include "bootstrap/context.h"
#include "bootstrap/control_tree.h"
#include "bootstrap/unique_id.h"
#include "health/comm_state.h"
#include "health/failure_notice.h"
#include "health/flight_recorder.h"
#include "net/framed_socket.h"

namespace rondo {

class Session {
 public:
  /// Joins, with a GPU or none; returns when all ranks have registered and this rank's edges of the control
  /// tree are connected. SystemError if the process that made the id cannot be reached (any more).
  /// `superseded` is polled until that process is reached, `interrupt` while ranks may be missing.
  static Result<std::shared_ptr<Session>> join(const UniqueId& id, int nranks, int rank,
                                               const PeerGpu& device, int64_t timeout_ms,
                                               const Interrupt& superseded, const Interrupt& interrupt);
  /// True if joining failed because the process that made the id cannot be reached; it may have ended.
  static bool is_root_gone(const Status& failure) {
    return failure.code() == Code::SystemError &&
           failure.message().find(kRootUnreachable) != std::string::npos;
  }
  /// A session of one rank, which connects to no other.
  static std::shared_ptr<Session> alone(const PeerGpu& device);
  ~Session();

  uint64_t id() const { return credentials_.session; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  const PeerInfo& member(int rank) const { return members_[static_cast<size_t>(rank)]; }
  bool is_on_this_host(int rank) const { return member(rank).endpoint.host == member(rank_).endpoint.host; }

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
    bool finished = false;
  };
  void attach(Attachment attachment);
  void detach(uint64_t communicator);
  /// This rank's recorder on another communicator; null if it is not a member.
  std::shared_ptr<FlightRecorder> recorder_of(uint64_t communicator);
  /// The first of these ranks that was reported to have died or left; -1: none.
  int first_gone(std::span<const int> ranks);
  bool is_gone(int rank) { return first_gone({&rank, 1}) >= 0; }
  /// This rank makes no more calls on the communicator.
  void finish(uint64_t communicator);
  /// True if every other attached communicator has finished.
  bool is_last(uint64_t communicator);

  /// Sends the notice to every rank.
  void notify(const FailureNotice& notice);

  /// Waits until every notice that other ranks already know has arrived here, or `health` has failed, or the
  /// time has run out: a stopped rank passes nothing on.
  void await_news(int64_t at_most_ms, const CommState& health);

  static constexpr uint64_t kWorld = 1;  // the communicator of all ranks
  /// Waits up to `for_ms` until all ranks have finished kWorld, if that is the communicator, or else all
  /// their communicators. Returns whether they have.
  Result<bool> await_ends(uint64_t communicator, int64_t for_ms, const Interrupt& interrupt);
  /// Leaves, which the other ranks do not treat as a death. Waits at most half a second until the neighbours
  /// in the control tree know, and not for other ranks' calls. A rank that later waits for this one finds
  /// that it has left.
  void depart();

 private:
  static constexpr const char* kRootUnreachable = "the process that made the unique id cannot be reached";
  /// What a rank has finished: nothing, kWorld, or all its communicators.
  enum class Ended : int32_t { Nothing, World, Everything };
  struct Edge {
    std::unique_ptr<FramedSocket> socket;
    Fd pidfd;
    Ended ended = Ended::Nothing;  // by all ranks of that subtree
    bool left = false;             // it announced that it is leaving after a failure
    bool farewell = false;         // it knows that this rank is leaving
  };

  /// The result of dialling a neighbour.
  struct Reached {
    int64_t began_ns = 0;
    Contact contact = Contact::None;
    Result<Fd> fd;
  };

  /// A flood through the control tree that collects pending notices (session_news.cc).
  struct SoundingId {
    int64_t rank = 0;  // the rank that asks
    uint64_t number = 0;
    auto operator<=>(const SoundingId&) const = default;
  };
  struct Sounding {
    int from_rank = -1;  // the neighbour to answer; -1: this rank asked
    std::set<int> open;  // neighbours that have not answered
  };

  Session() = default;
  Status register_with_root(const UniqueId& id, int nranks, const PeerGpu& device, const Deadline& deadline,
                            const Interrupt& superseded, const Interrupt& interrupt);
  Result<Fd> reach_root(const UniqueId& id, const Deadline& deadline, const Interrupt& superseded);
  Status read_table(const ControlMessage& message, int nranks);
  Status grow_edges(const Deadline& deadline);
  Status first_news(const Status& failure);
  void wait_for_starting();
  void note_ends();
  void look_for_neighbours();
  Reached reach(int rank, ConnectKind kind);
  void have_reached(int rank, ConnectKind kind, Reached& reached);
  std::vector<Address> addresses_of(const PeerInfo& member, Route route) const;

  // On the service thread:
  void admit(const ConnectRequest& purpose, Fd fd);
  void add_edge(int rank, Fd fd);
  void watch_process(int rank, Edge& edge);
  void on_edge_message(int rank, const ControlMessage& message);
  void on_root_message(const ControlMessage& message);
  void lose(int rank, const std::string& how);  // empty: determined from its socket
  static bool is_unreachable(const Edge& edge);
  void hear(const FailureNotice& notice, int from_rank);
  void sound(const SoundingId& id, int from_rank);
  void end_sounding(const SoundingId& id, int rank);
  void end_soundings(int rank);
  void answer_sounding(const SoundingId& id, int from_rank);
  void take_place();
  void seek(int rank, ConnectKind kind);
  void judge_missing();
  void judge_missing_after(int64_t delay_ms);
  void judge_silence(int rank, int64_t since_ns);
  void lose_host_of(int rank);
  bool is_departure_known() const;
  void pass_up();
  void all_have(Ended ended);
  void answer_inquiry(const ConnectRequest& purpose, const Fd& fd);
  void apply(const FailureNotice& notice, const Attachment& attachment);

  std::shared_ptr<Context> context_;  // null: alone
  std::unique_ptr<BootstrapRoot> bootstrap_root_;
  Credentials credentials_;
  int rank_ = 0;
  int64_t unreachable_s_ = 0;  // after which another host counts as lost
  std::vector<PeerInfo> members_;
  ControlTree tree_;

  // On the service thread only:
  bool seated_ = false;                          // the member table and the control tree are known
  std::vector<std::pair<int, Fd>> early_edges_;  // edges from neighbours that knew them sooner
  std::map<int, Edge> edges_;
  std::unique_ptr<FramedSocket> root_;      // until the edges are connected
  std::vector<int> parents_;                // in the control tree, before any rank has gone
  std::set<int> gone_;                      // ranks that died or left
  bool connected_ = false;                  // all edges have been connected, so missing ones are sought
  std::set<int> dialled_;                   // ranks that are being dialled
  std::set<int> doubted_;                   // ranks that could not be reached, and may have left
  std::map<int, int64_t> silent_since_ns_;  // ranks of other hosts whose network does not answer
  EventLoop::Timer suspicion_ = 0;          // 0: none
  Ended own_end_ = Ended::Nothing;          // of this rank
  Ended told_ = Ended::Nothing;             // the latest value sent to the parent
  bool has_departed_ = false;
  std::map<SoundingId, Sounding> soundings_;  // in progress

  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::set<int> standing_;  // ranks whose edge has been connected
  Ended all_end_ = Ended::Nothing;
  std::map<int, ConnectKind> sought_;  // neighbours to dial
  bool ends_ = false;
  std::thread seeker_;
  struct WaitingSocket {
    Fd fd;
    uint32_t route = 0;
  };
  std::map<std::tuple<uint64_t, int, uint32_t, uint32_t>, WaitingSocket> arrivals_;
  std::map<uint64_t, Attachment> attachments_;
  std::vector<FailureNotice> heard_;
  uint64_t next_sounding_ = 0;
  std::set<uint64_t> sounded_;  // numbers of this rank's soundings that have completed
  CommState start_health_;      // failures before there is a communicator
};

}  // namespace rondo
