// SPDX-License-Identifier: Apache-2.0
// BootstrapRoot: the root's side of a start. Ranks register; when all have, each gets the table of all
// members. The root then watches every rank until that rank's edges of the control tree are connected, so
// that no death goes unnoticed. Created and destroyed on any thread; works on the service thread.
#pragma once

#include <map>
#include <string>

#include "bootstrap/rendezvous.h"
#include "context.h"
#include "failure_notice.h"
#include "net/framed_socket.h"

namespace rondo {

/// What the other ranks are told if this process's rank fails in init.
Status failed_in_init(const Context& context, int rank, const Status& cause);

class BootstrapRoot {
 public:
  /// Starts to listen in this process; returns the id for the ranks.
  static Result<UniqueId> start(int64_t timeout_ms, const Secret& secret);
  /// Passes ownership of a session's BootstrapRoot to its local rank, with which it then ends; null if it is
  /// not in this process.
  static std::unique_ptr<BootstrapRoot> claim(uint64_t session);
  ~BootstrapRoot();
  /// That local rank cannot start: refuses the others.
  void fail(int rank, const Status& cause);
  /// Sets how long the ranks may take; no effect once one has connected.
  void allow(int64_t timeout_ms);

  /// The local rank cannot start: refuses those that wait for the table of members. On the service thread.
  void give_up(const Status& cause);
  /// Sends the notice to the ranks whose edges are not connected yet. On the service thread.
  void pass_on(const FailureNotice& notice);
  /// True if no registered rank needs the root any more. On the service thread.
  bool is_over() const;

 private:
  struct Joiner {
    std::unique_ptr<FramedSocket> socket;
    int rank = -1;  // once it has registered
    bool ready = false;
    Status failure;  // that it has reported
  };
  BootstrapRoot(std::shared_ptr<Context> context, Credentials credentials, int64_t timeout_ms);
  void admit(Fd fd);
  void on_message(uint64_t joiner, const ControlMessage& message);
  void on_closed(uint64_t joiner);
  void on_timeout();
  void remind_after(int64_t delay_ms);
  void stop_timers();
  std::string who_is_missing(int64_t waited_ms) const;
  Status take(uint64_t joiner, const PeerInfo& member);
  void send_tables();
  void refuse_all(const Status& why);
  static void refuse(FramedSocket& socket, const Status& why);

  std::shared_ptr<Context> context_;
  Credentials credentials_;
  int64_t timeout_ms_;
  // On the service thread only:
  EventLoop::Timer timer_ = 0;
  EventLoop::Timer reminder_ = 0;
  int64_t waited_ms_ = 0;  // when it is due
  int nranks_ = 0;         // 0: no rank has registered yet
  bool complete_ = false;
  Status failure_;  // why the start has failed; also sent to ranks that register later
  uint64_t next_joiner_ = 0;
  std::map<uint64_t, Joiner> joiners_;
  std::map<int, PeerInfo> members_;
};

}  // namespace rondo
