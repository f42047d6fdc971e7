// SPDX-License-Identifier: Apache-2.0
// HostExecutor: runs a group's host collectives one at a time. A thread that waits for one does the work;
// otherwise the executor's own threads do: one, plus more while it is in a future's callback, which may wait
// for further collectives. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace rondo::torch_binding {

class HostExecutor {
 public:
  struct QueuedCall {
    std::function<bool()> run;     // does not throw; true: settle() is needed
    std::function<void()> settle;  // runs once the executor is free: may push to it and wait for it
  };
  using Clock = std::chrono::steady_clock;
  using Deadline = std::optional<Clock::time_point>;

  ~HostExecutor() { stop(); }

  /// `waited_for`: the caller will wait for it right away.
  void push(QueuedCall task, bool waited_for);
  /// Waits until `is_over`, which a task's run() makes true, or the deadline; returns its final value. A
  /// caller with a deadline leaves the work to a thread, since it could not abandon a task halfway.
  bool wait(const std::function<bool()>& is_over, Deadline deadline);
  /// Waits until no tasks are left, or the deadline; true if none are.
  bool drain(Clock::time_point deadline);
  /// Ends the threads, after the remaining tasks.
  void stop();

 private:
  void need_thread();  // requires mutex_
  void loop();
  void run_one(std::unique_lock<std::mutex>& lock, bool is_own_thread);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<QueuedCall> tasks_;
  bool busy_ = false;
  bool stop_ = false;
  std::vector<std::thread> threads_;  // created once a task's caller does not wait for it right away
  size_t away_ = 0;                   // of them, in settle()
};

}  // namespace rondo::torch_binding
