// SPDX-License-Identifier: Apache-2.0
#include "comm/queue.h"

#include "base/quiet_thread.h"

namespace rondo {

Queue::Queue() : thread_(quiet_thread([this] { loop(); })) {}

Queue::~Queue() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Queue::push(std::function<Status()> work) {
  {
    std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_all();
}

Status Queue::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return work_.empty() && !busy_; });
  return std::exchange(first_error_, Status());
}

Status Queue::query() {
  std::lock_guard lock(mutex_);
  if (!first_error_.ok()) return first_error_;
  return work_.empty() && !busy_ ? Status() : Status(Code::InProgress, "calls on the queue are not done yet");
}

void Queue::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !work_.empty(); });
    if (work_.empty()) return;
    const auto work = std::move(work_.front());
    work_.pop_front();
    busy_ = true;
    lock.unlock();
    Status status = work();
    lock.lock();
    busy_ = false;
    if (first_error_.ok()) first_error_ = std::move(status);
    changed_.notify_all();
  }
}

void QueueEvent::record(Queue& queue) {
  std::lock_guard lock(state_->mutex);
  const uint64_t number = ++state_->recorded;
  queue.push([state = state_, number] {
    std::lock_guard done(state->mutex);
    state->completed = std::max(state->completed, number);
    state->changed.notify_all();
    return Status();
  });
}

void QueueEvent::wait(State& state, uint64_t number) {
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return state.completed >= number; });
}

void QueueEvent::hold(Queue& queue) {
  std::lock_guard lock(state_->mutex);
  queue.push([state = state_, number = state_->recorded] {
    wait(*state, number);
    return Status();
  });
}

bool QueueEvent::complete() {
  std::lock_guard lock(state_->mutex);
  return state_->completed >= state_->recorded;
}

void QueueEvent::synchronize() {
  uint64_t number = 0;
  {
    std::lock_guard lock(state_->mutex);
    number = state_->recorded;
  }
  wait(*state_, number);
}

void push_together(const std::vector<Queue*>& queues, const std::function<Status()>& work) {
  struct QueueMeeting {
    std::mutex mutex;
    std::condition_variable changed;
    size_t arrived = 0;
    bool done = false;
    Status status;
  };
  auto meeting = std::make_shared<QueueMeeting>();
  const size_t expected = queues.size();
  for (Queue* queue : queues) {
    queue->push([meeting, expected, work] {
      std::unique_lock lock(meeting->mutex);
      if (++meeting->arrived == expected) {  // the last queue to arrive does the work
        lock.unlock();
        Status status = work();
        lock.lock();
        meeting->status = std::move(status);
        meeting->done = true;
        meeting->changed.notify_all();
      }
      meeting->changed.wait(lock, [&] { return meeting->done; });
      return meeting->status;
    });
  }
}

}  // namespace rondo
