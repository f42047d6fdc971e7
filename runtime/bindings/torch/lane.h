// Lane: carries out a group's host collectives one after the other. Whoever waits for one does the work;
// while nobody does, threads of its own: one, and others while that is in a future's callback, which may wait
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

class Lane {
 public:
  struct Task {
    std::function<bool()> run;     // throws nothing; true: settle() is needed
    std::function<void()> settle;  // afterwards, when the lane is free: it may use the lane, and wait for it
  };
  using Clock = std::chrono::steady_clock;
  using Deadline = std::optional<Clock::time_point>;

  ~Lane() { stop(); }

  /// `waited_for`: the caller comes to wait for it right away.
  void push(Task task, bool waited_for);
  /// Until `is_over`, which a task's run() makes true, or the deadline; what it was in the end. Who has a
  /// deadline leaves the work to the thread, since a task cannot be left half done.
  bool wait(const std::function<bool()>& is_over, Deadline deadline);
  /// Until nothing is left to do, or the deadline; true where nothing is.
  bool drain(Clock::time_point deadline);
  /// Ends the thread, after what is left to do.
  void stop();

 private:
  void need_thread();  // with the mutex
  void loop();
  void run_one(std::unique_lock<std::mutex>& lock, bool is_own_thread);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool busy_ = false;
  bool stop_ = false;
  std::vector<std::thread> threads_;  // from the first task on that nobody waits for right away
  size_t away_ = 0;                   // of them, in settle()
};

}  // namespace rondo::torch_binding
