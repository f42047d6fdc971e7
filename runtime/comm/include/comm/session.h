// Session: one rank's membership in what a unique id started. Knows all members, carries sockets between
// them, hears of deaths and passes the news on along the control tree. The communicators of a rank share it;
// it ends with the last of them. Any thread, except where a method says otherwise.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
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
  /// asked until that process is reached.
  static Result<std::shared_ptr<Session>> join(const UniqueId& id, int nranks, int rank,
                                               const MemberDevice& device, int64_t timeout_ms,
                                               const Interrupt& superseded);
  /// A session of one rank, which needs nobody.
  static std::shared_ptr<Session> alone(const MemberDevice& device);
  ~Session();

  uint64_t id() const { return credentials_.session; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  const Member& member(int rank) const { return members_[static_cast<size_t>(rank)]; }

  /// A socket to another rank's process, for the given purpose; its `from_rank` and `to_rank` are filled in.
  Result<Fd> dial(int rank, Route route, Purpose purpose, const Deadline& deadline,
                  const Interrupt& interrupt);
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
  /// Whether the rank died, or left after a failure.
  bool is_gone(int rank);
  /// The communicator makes no calls any more.
  void finish(uint64_t communicator);
  /// Whether every other communicator that is attached has finished.
  bool is_last(uint64_t communicator);

  /// Tells every rank.
  void notify(const Notice& notice);

  Status say_goodbye();
  /// Says good-bye and waits until every rank has. Afterwards nobody's leaving is a death.
  Status goodbye(const Deadline& deadline, const Interrupt& interrupt);
  /// Leaves without waiting for anybody; it is no death to the others. Whoever waits for this rank later on
  /// finds that it is not there any more.
  void depart();

 private:
  struct Edge {
    std::unique_ptr<MessageSocket> socket;
    Fd pidfd;
    bool goodbye = false;  // that subtree has finished
    bool left = false;     // it said that it leaves; its end is no news
  };

  Session() = default;
  Status register_with_root(const UniqueId& id, int nranks, const MemberDevice& device,
                            const Deadline& deadline, const Interrupt& superseded);
  Result<Fd> reach_root(const UniqueId& id, const Deadline& deadline, const Interrupt& superseded);
  Status read_table(const Message& message, int nranks);
  Status grow_edges(const Deadline& deadline);
  Status first_news(const Status& failure);
  void wait_for_starting();
  std::vector<Address> addresses_of(const Member& member, Route route) const;

  // On the service thread:
  void admit(const Purpose& purpose, Fd fd);
  void add_edge(int rank, Fd fd);
  void watch_process(int rank, Edge& edge);
  void on_edge_message(int rank, const Message& message);
  void on_root_message(const Message& message);
  void lose(int rank, const char* how);
  void hear(const Notice& notice, int from_rank);
  void consider_goodbye();
  void end_all();
  void answer_inquiry(const Purpose& purpose, const Fd& fd);
  void apply(const Notice& notice, const Attachment& attachment);

  std::shared_ptr<Context> context_;  // null: alone
  std::unique_ptr<Gathering> gathering_;
  Credentials credentials_;
  int rank_ = 0;
  std::vector<Member> members_;
  ControlTree tree_;

  // On the service thread only:
  bool seated_ = false;                          // members_ and tree_ are known, and stay as they are
  std::vector<std::pair<int, Fd>> early_edges_;  // of neighbours who knew them sooner
  std::map<int, Edge> edges_;
  std::unique_ptr<MessageSocket> root_;  // until the edges stand
  bool said_goodbye_ = false;
  bool has_departed_ = false;
  std::set<int> departed_;  // neighbours

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::set<int> standing_;  // ranks to which there is an edge
  bool all_gone_ = false;
  struct Arrival {
    Fd fd;
    uint32_t route = 0;
  };
  std::map<std::tuple<uint64_t, int, uint32_t, uint32_t>, Arrival> arrivals_;
  std::map<uint64_t, Attachment> attachments_;
  std::vector<Notice> heard_;
  Health start_health_;  // failures before there is a communicator
};

}  // namespace rondo
