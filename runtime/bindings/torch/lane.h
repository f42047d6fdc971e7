// Lane: carries out a group's host collectives one after the other. Whoever waits for one does the work;
// while nobody does, a thread of its own. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace rondo::torch_binding {

class Lane {
 public:
  struct Task {
    std::function<void()> run;     // throws nothing
    std::function<void()> settle;  // afterwards, when the lane is free: it may use the lane again
  };
  using Clock = std::chrono::steady_clock;
  using Deadline = std::optional<Clock::time_point>;

  ~Lane();

  /// `waited_for`: the caller comes to wait for it right away.
  void push(Task task, bool waited_for);
  /// Until `is_over`, which a task's run() makes true, or the deadline; what it was in the end.
  bool wait(const std::function<bool()>& is_over, Deadline deadline);
  /// Until nothing is left to do, or the deadline; true where nothing is.
  bool drain(Clock::time_point deadline);

 private:
  void loop();
  void run_one(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool busy_ = false;
  bool stop_ = false;
  std::thread thread_;  // from the first task on that nobody waits for right away
};

}  // namespace rondo::torch_binding
