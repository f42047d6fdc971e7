// SPDX-License-Identifier: Apache-2.0
// ControlPlane: what a Session works with: the table of members, the edges of the control tree, on which
// notices travel, and sockets that have arrived. Made once per Session, whose methods call those of the same
// name here. Any thread, unless a method says otherwise.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "bootstrap/rendezvous.h"
#include "bootstrap/session.h"
#include "bootstrap_root.h"
#include "context.h"
#include "control_tree.h"
#include "failure_notice.h"
#include "health/comm_state.h"
#include "health/flight_recorder.h"
#include "net/framed_socket.h"

namespace rondo {

class ControlPlane {
 public:
  using Attachment = Session::Attachment;
  static constexpr uint64_t kWorld = Session::kWorld;

  static Result<std::unique_ptr<ControlPlane>> join(const UniqueId& id, int nranks, int rank,
                                                    const PeerGpu& device, int64_t timeout_ms,
                                                    const Interrupt& superseded, const Interrupt& interrupt);
  static std::unique_ptr<ControlPlane> alone(const PeerGpu& device);
  ~ControlPlane();

  uint64_t id() const { return credentials_.session; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  /// By rank; constant once join() has returned.
  const std::vector<PeerInfo>& members() const { return members_; }
  const PeerInfo& member(int rank) const { return members_[static_cast<size_t>(rank)]; }
  bool is_on_this_host(int rank) const { return member(rank).endpoint.host == member(rank_).endpoint.host; }
  /// How to reach the process of another rank.
  Route route_to(int rank) const { return is_on_this_host(rank) ? Route::Unix : Route::Tcp; }

  Result<Fd> dial(int rank, Route route, ConnectRequest purpose, const Deadline& deadline,
                  const Interrupt& interrupt, Contact* contact = nullptr);
  Fd arrived(ConnectRequest& purpose);
  void attach(Attachment attachment);
  void detach(uint64_t communicator);
  std::shared_ptr<FlightRecorder> recorder_of(uint64_t communicator);
  int first_gone(std::span<const int> ranks);
  void finish(uint64_t communicator);
  void leave(uint64_t communicator, uint32_t latest);
  std::optional<uint32_t> last_call(int rank, uint64_t communicator);
  bool is_last(uint64_t communicator);
  void give_up(const Status& cause);
  void notify(const FailureNotice& notice);
  bool await_news(int64_t at_most_ms, const CommState& health);
  Result<bool> await_ends(uint64_t communicator, int64_t for_ms, const Interrupt& interrupt);
  std::string interfaces_text() const;
  void depart();

  /// How the message begins if the process that made the unique id cannot be reached.
  static constexpr const char* kRootUnreachable = "the process that made the unique id cannot be reached";

 private:
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

  /// A flood through the control tree that collects pending notices (control_plane_news.cc).
  struct SoundingId {
    int64_t rank = 0;  // the rank that asks
    uint64_t number = 0;
    auto operator<=>(const SoundingId&) const = default;
  };
  struct Sounding {
    int from_rank = -1;  // the neighbour to answer; -1: this rank asked
    std::set<int> open;  // neighbours that have not answered
  };

  ControlPlane() = default;
  Status start(const UniqueId& id, int nranks, const PeerGpu& device, int64_t timeout_ms,
               const Interrupt& superseded, const Interrupt& interrupt);
  Status register_with_root(const UniqueId& id, int nranks, const PeerGpu& device, const Deadline& deadline,
                            const Interrupt& superseded, const Interrupt& interrupt);
  Result<Fd> reach_root(const UniqueId& id, const Deadline& deadline, const Interrupt& superseded);
  Status read_table(const ControlMessage& message, int nranks);
  Status grow_edges(const Deadline& deadline);
  void tell_ps();
  Status first_news(const Status& failure);
  void wait_for_starting(int64_t at_most_ms);
  void note_ends();
  void note_end(const EndedComm& ended);
  std::vector<EndedComm> last_calls();
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
  void hear(std::vector<FailureNotice> notices, int from_rank);
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
  pid_t thread_of(uint64_t communicator);
  void answer_inquiry(const ConnectRequest& purpose, const Fd& fd);
  std::string end_of(int rank);
  Status why_it_ended(const FailureNotice& end) const;
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
  std::set<int> established_;  // ranks whose edge has been connected
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
  std::deque<EndedComm> ended_;  // by this rank, lately; peers may still ask about them
  std::vector<FailureNotice> heard_;
  uint64_t next_sounding_ = 0;
  std::set<uint64_t> sounded_;  // numbers of this rank's soundings that have completed
  CommState start_health_;      // failures before there is a communicator
};

}  // namespace rondo
