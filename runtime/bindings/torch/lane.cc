#include "lane.h"

#include <signal.h>

namespace rondo::torch_binding {
namespace {

/// Signals are the business of the program's own threads.
std::thread quiet_thread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread made(std::move(body));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

}  // namespace

Lane::~Lane() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Lane::push(Task task, bool waited_for) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  if (waited_for) return;
  if (!thread_.joinable()) thread_ = quiet_thread([this] { loop(); });
  changed_.notify_all();
}

bool Lane::wait(const std::function<bool()>& is_over, Deadline deadline) {
  std::unique_lock lock(mutex_);
  while (!is_over()) {
    if (deadline && Clock::now() >= *deadline) return false;
    if (!busy_ && !tasks_.empty())
      run_one(lock);
    else if (deadline)
      changed_.wait_until(lock, *deadline);
    else
      changed_.wait(lock);
  }
  return true;
}

bool Lane::drain(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return tasks_.empty() && !busy_; });
}

void Lane::run_one(std::unique_lock<std::mutex>& lock) {
  const Task task = std::move(tasks_.front());
  tasks_.pop_front();
  busy_ = true;
  lock.unlock();
  task.run();
  lock.lock();
  busy_ = false;
  changed_.notify_all();
  lock.unlock();
  task.settle();
  lock.lock();
}

void Lane::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || (!busy_ && !tasks_.empty()); });
    if (stop_ && (busy_ || tasks_.empty())) return;
    run_one(lock);
  }
}

}  // namespace rondo::torch_binding
