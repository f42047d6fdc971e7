// Session: one rank's membership in what a unique id started. Knows all members, carries sockets between
// them, hears of deaths and passes the news on along the control tree. The communicators of a rank share it;
// it ends with the last of them. Any thread, except where a method says otherwise.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <tuple>

#include "comm/board.h"
#include "comm/context.h"
#include "comm/control_tree.h"
#include "comm/gathering.h"
#include "comm/health.h"
#include "comm/message_socket.h"
#include "comm/notice.h"
#include "comm/unique_id.h"

namespace rondo {

class Session {
 public:
  /// Joins, with a GPU or none; returns when all ranks have registered and this rank's edges of the control
  /// tree stand. SystemError where the process that made the id cannot be reached (any more). `superseded` is
  /// asked until that process is reached, `interrupt` as long as ranks may be missing.
  static Result<std::shared_ptr<Session>> join(const UniqueId& id, int nranks, int rank,
                                               const MemberDevice& device, int64_t timeout_ms,
                                               const Interrupt& superseded, const Interrupt& interrupt);
  /// Whether joining failed because of the process that made the id, which may have ended.
  static bool is_root_gone(const Status& failure) {
    return failure.code() == Code::SystemError &&
           failure.message().find(kRootUnreachable) != std::string::npos;
  }
  /// A session of one rank, which needs nobody.
  static std::shared_ptr<Session> alone(const MemberDevice& device);
  ~Session();

  uint64_t id() const { return credentials_.session; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  const Member& member(int rank) const { return members_[static_cast<size_t>(rank)]; }
  bool is_on_this_host(int rank) const { return member(rank).endpoint.host == member(rank_).endpoint.host; }

  /// A socket to another rank's process, for the given purpose; its `from_rank` and `to_rank` are filled in.
  Result<Fd> dial(int rank, Route route, Purpose purpose, const Deadline& deadline,
                  const Interrupt& interrupt, Contact* contact = nullptr);
  /// A Data socket that arrived for (communicator, from_rank, port, index), and the route that its dialler
  /// stated in `purpose`; invalid while it has not.
  Fd arrived(Purpose& purpose);

  /// What a communicator wants to be told and asked. Notices that came before are delivered at once.
  struct Attachment {
    uint64_t communicator = 0;
    std::vector<int> ranks;  // of the session, by the communicator's ranks
    std::shared_ptr<Health> health;
    std::shared_ptr<Board> board;
    bool finished = false;
  };
  void attach(Attachment attachment);
  void detach(uint64_t communicator);
  /// What this rank does on another communicator; null where it is not a member.
  std::shared_ptr<Board> board_of(uint64_t communicator);
  /// The first of these ranks of which it was heard that it died or left; -1: none.
  int first_gone(std::span<const int> ranks);
  bool is_gone(int rank) { return first_gone({&rank, 1}) >= 0; }
  /// The communicator makes no calls any more: this rank has come to its end.
  void finish(uint64_t communicator);
  /// Whether every other communicator that is attached has finished.
  bool is_last(uint64_t communicator);

  /// Tells every rank.
  void notify(const Notice& notice);

  /// Waits until all that other ranks know already has been heard here, or `health` has failed, or the time
  /// is over: a rank that is stopped passes nothing on.
  void await_news(int64_t at_most_ms, const Health& health);

  static constexpr uint64_t kWorld = 1;  // the communicator of all ranks
  /// Waits, for a while at most, until all ranks have come to the end of the world, where that is the
  /// communicator, or of everything; whether they have.
  Result<bool> await_ends(uint64_t communicator, int64_t for_ms, const Interrupt& interrupt);
  /// Leaves; that is no death to the others. Waits until the neighbours in the control tree know, half a
  /// second at most, and for no other rank's calls. Whoever waits for this rank later on finds that it is not
  /// there any more.
  void depart();

 private:
  static constexpr const char* kRootUnreachable = "the process that made the unique id cannot be reached";
  /// What a rank has come to the end of.
  enum class Ended : int32_t { Nothing, World, Everything };
  struct Edge {
    std::unique_ptr<MessageSocket> socket;
    Fd pidfd;
    Ended ended = Ended::Nothing;  // by all ranks of that subtree
    bool left = false;             // it said that it leaves after a failure
    bool farewell = false;         // it knows that this rank leaves
  };

  /// The result of dialling a neighbour.
  struct Reached {
    int64_t began_ns = 0;
    Contact contact = Contact::None;
    Result<Fd> fd;
  };

  /// A question for news that goes through the control tree (session_news.cc).
  struct SoundingId {
    int64_t rank = 0;  // that asks
    uint64_t number = 0;
    auto operator<=>(const SoundingId&) const = default;
  };
  struct Sounding {
    int from_rank = -1;  // the neighbour that is to be answered; -1: this rank asks
    std::set<int> open;  // neighbours that have not answered
  };

  Session() = default;
  Status register_with_root(const UniqueId& id, int nranks, const MemberDevice& device,
                            const Deadline& deadline, const Interrupt& superseded,
                            const Interrupt& interrupt);
  Result<Fd> reach_root(const UniqueId& id, const Deadline& deadline, const Interrupt& superseded);
  Status read_table(const Message& message, int nranks);
  Status grow_edges(const Deadline& deadline);
  Status first_news(const Status& failure);
  void wait_for_starting();
  void note_ends();
  void look_for_neighbours();
  Reached reach(int rank, PurposeKind kind);
  void have_reached(int rank, PurposeKind kind, Reached& reached);
  std::vector<Address> addresses_of(const Member& member, Route route) const;

  // On the service thread:
  void admit(const Purpose& purpose, Fd fd);
  void add_edge(int rank, Fd fd);
  void watch_process(int rank, Edge& edge);
  void on_edge_message(int rank, const Message& message);
  void on_root_message(const Message& message);
  void lose(int rank, const std::string& how);  // empty: as its socket says
  static bool is_unreachable(const Edge& edge);
  void hear(const Notice& notice, int from_rank);
  void sound(const SoundingId& id, int from_rank);
  void end_sounding(const SoundingId& id, int rank);
  void end_soundings(int rank);
  void answer_sounding(const SoundingId& id, int from_rank);
  void take_place();
  void seek(int rank, PurposeKind kind);
  void judge_missing();
  void judge_missing_after(int64_t delay_ms);
  void judge_silence(int rank, int64_t since_ns);
  void lose_host_of(int rank);
  bool is_departure_known() const;
  void pass_up();
  void all_have(Ended ended);
  void answer_inquiry(const Purpose& purpose, const Fd& fd);
  void apply(const Notice& notice, const Attachment& attachment);

  std::shared_ptr<Context> context_;  // null: alone
  std::unique_ptr<Gathering> gathering_;
  Credentials credentials_;
  int rank_ = 0;
  int64_t unreachable_s_ = 0;  // after which another host counts as lost
  std::vector<Member> members_;
  ControlTree tree_;

  // On the service thread only:
  bool seated_ = false;                          // members_ and tree_ are known, and stay as they are
  std::vector<std::pair<int, Fd>> early_edges_;  // of neighbours who knew them sooner
  std::map<int, Edge> edges_;
  std::unique_ptr<MessageSocket> root_;     // until the edges stand
  std::vector<int> parents_;                // in the control tree, before any rank has gone
  std::set<int> gone_;                      // ranks that died or left
  bool stands_ = false;                     // all edges did, so those that are missing now are sought
  std::set<int> dialled_;                   // ranks to which an edge is on its way
  std::set<int> doubted_;                   // ranks that could not be reached, and may have left
  std::map<int, int64_t> silent_since_ns_;  // ranks of other hosts whose network does not answer
  Poller::Timer suspicion_ = 0;             // 0: none
  Ended own_end_ = Ended::Nothing;          // of this rank
  Ended told_ = Ended::Nothing;             // the parent
  bool has_departed_ = false;
  std::map<SoundingId, Sounding> soundings_;  // that are under way

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::set<int> standing_;  // ranks to which there is an edge
  Ended all_end_ = Ended::Nothing;
  std::map<int, PurposeKind> sought_;  // neighbours that are to be dialled
  bool ends_ = false;
  std::thread seeker_;
  struct Arrival {
    Fd fd;
    uint32_t route = 0;
  };
  std::map<std::tuple<uint64_t, int, uint32_t, uint32_t>, Arrival> arrivals_;
  std::map<uint64_t, Attachment> attachments_;
  std::vector<Notice> heard_;
  uint64_t next_sounding_ = 0;
  std::set<uint64_t> sounded_;  // numbers of this rank's soundings that are back
  Health start_health_;         // failures before there is a communicator
};

}  // namespace rondo
