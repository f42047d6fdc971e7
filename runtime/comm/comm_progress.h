// SPDX-License-Identifier: Apache-2.0
// CommProgress: one communicator's work in a group: its collectives in order, and its messages concurrently.
// Advances without blocking; the caller calls look() now and then if there is no progress. One thread at a
// time.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "diagnosis/background_diagnosis.h"
#include "gpu_calls.h"
#include "health/stall_detector.h"
#include "p2p/point_to_point_task.h"
#include "progress_engine.h"

namespace rondo {

class CommProgress {
 public:
  /// `ops`, `streams`: of all communicators of the group.
  CommProgress(Communicator& communicator, std::span<const GroupOp> ops, MessageStreams& streams);

  Communicator& communicator() { return communicator_; }

  /// Takes over a call that was started, or that failed to start.
  void take_up(const Result<Task*>& started);
  /// Done and Failed are final.
  Progress advance();
  /// What a waiting thread may sleep on; empty if unknown.
  Awaited awaited();
  /// Called now and then while the caller's work makes no progress; waits for no rank, unless it fails.
  /// `waits`: a caller is waiting for it.
  void look(bool waits = true);
  /// It will not be advanced again: the memory of unfinished operations is no longer read or written.
  void abandon();
  /// No caller waits for it any more: peers that ask are no longer told of its messages.
  void hide_messages();
  const Status& status() const { return status_; }
  bool over() const { return over_; }

 private:
  void add(const Call&, const CallPlace&) {}  // next_call() finds it in its turn
  template <typename Request>
  void add(const std::shared_ptr<Request>& request, const CallPlace& place);
  const GroupOp* next_call();
  Progress advance_calls();
  void refuse(const Status& why);
  Progress fail(const Status& cause);
  bool has_failed() const { return over_ || is_broken_; }
  Progress failing() const { return over_ ? Progress::Failed : Progress::Stuck; }
  Status where_ranks_disagree(const Status& cause) const;
  int blocked_on() const;
  PendingWait wait() const;
  void show_messages();
  bool has_moved();
  void note_progress();
  void start_diagnosis(bool is_last);
  void conclude();
  Status reason_to_give_up() const;

  Communicator& communicator_;
  std::span<const GroupOp> ops_;
  MessageStreams& streams_;
  size_t next_ = 0;       // index of the first op that next_call() has not examined
  Task* call_ = nullptr;  // the running one
  std::optional<PointToPointTask> messages_;
  std::optional<GpuMessageTask> gpu_messages_;
  std::optional<Deadline> deadline_;  // of the current call, from its first wait on
  StallDetector stall_detector_;
  std::unique_ptr<BackgroundDiagnosis> diagnosis_;
  uint64_t steps_ = 0;        // of its messages, as far as they have been noted
  bool is_outdated_ = false;  // there has been progress since the diagnosis began
  bool makes_calls_ = false;  // not only messages
  bool has_shown_ = false;    // in the FlightRecorder: the messages it waits for
  bool is_broken_ = false;    // it has failed, and CauseSearch finds out why
  bool over_ = false;
  Status status_;
};

}  // namespace rondo
