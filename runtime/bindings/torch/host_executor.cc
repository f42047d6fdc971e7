// SPDX-License-Identifier: Apache-2.0
#include "host_executor.h"

#include "../quiet_thread.h"

namespace rondo::torch_binding {
using bindings::quiet_thread;

void HostExecutor::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (!thread.joinable()) continue;
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();  // a task's future callback has shut down the group
    else
      thread.join();
  }
}

void HostExecutor::push(QueuedCall task, bool waited_for) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  if (!waited_for) need_thread();
}

void HostExecutor::need_thread() {
  if (threads_.size() == away_ && !stop_) threads_.push_back(quiet_thread("rondo-torch", [this] { loop(); }));
  changed_.notify_all();
}

bool HostExecutor::wait(const std::function<bool()>& is_over, Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (deadline) {
    need_thread();
    return changed_.wait_until(lock, *deadline, is_over);
  }
  while (!is_over()) {
    if (!busy_ && !tasks_.empty())
      run_one(lock, false);
    else
      changed_.wait(lock);
  }
  return true;
}

bool HostExecutor::drain(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return tasks_.empty() && !busy_; });
}

void HostExecutor::run_one(std::unique_lock<std::mutex>& lock, bool is_own_thread) {
  const QueuedCall task = std::move(tasks_.front());
  tasks_.pop_front();
  busy_ = true;
  lock.unlock();
  const bool unsettled = task.run();
  lock.lock();
  busy_ = false;
  changed_.notify_all();
  if (!unsettled) return;
  away_ += is_own_thread ? 1 : 0;
  if (is_own_thread && !tasks_.empty()) need_thread();
  lock.unlock();
  task.settle();
  lock.lock();
  away_ -= is_own_thread ? 1 : 0;
}

void HostExecutor::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || (!busy_ && !tasks_.empty()); });
    if (stop_ && (busy_ || tasks_.empty())) return;
    run_one(lock, true);
  }
}

}  // namespace rondo::torch_binding
