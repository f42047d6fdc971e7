// SPDX-License-Identifier: Apache-2.0
#include "comm/queue.h"

#include "base/quiet_thread.h"

namespace rondo {

Queue::Queue() : thread_(quiet_thread("rondo-queue", [this] { loop(); })) {}

Queue::~Queue() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Queue::push(std::function<Status()> work) {
  QueueWork one;
  one.push_back(std::move(work));
  push(std::move(one));
}

void Queue::push(QueueWork&& work) noexcept {
  {
    std::lock_guard lock(mutex_);
    work_.splice(work_.end(), work);
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
  const uint64_t number = state_->recorded + 1;
  queue.push([state = state_, number] {
    std::lock_guard done(state->mutex);
    state->completed = std::max(state->completed, number);
    state->changed.notify_all();
    return Status();
  });
  state_->recorded = number;  // only if the work that completes it was queued
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

QueueMeeting::QueueMeeting(const std::vector<Queue*>& queues, std::function<Status()> work)
    : state_(std::make_shared<MeetingState>()) {
  state_->work = std::move(work);
  state_->expected = queues.size();
  arrivals_.reserve(queues.size());
  for (Queue* queue : queues)
    arrivals_.emplace_back(queue, QueueWork()).second.push_back([state = state_] { return arrive(*state); });
}

void QueueMeeting::push() noexcept {
  for (auto& [queue, work] : arrivals_) queue->push(std::move(work));
}

Status QueueMeeting::wait() {
  std::unique_lock lock(state_->mutex);
  return await(*state_, lock);
}

Status QueueMeeting::await(MeetingState& state, std::unique_lock<std::mutex>& lock) {
  state.changed.wait(lock, [&] { return state.done; });
  return state.status;
}

Status QueueMeeting::arrive(MeetingState& state) {
  std::unique_lock lock(state.mutex);
  if (++state.arrived != state.expected) return await(state, lock);
  lock.unlock();  // the last queue to arrive does the work
  Status status = state.work();
  lock.lock();
  state.status = std::move(status);
  state.done = true;
  state.changed.notify_all();
  return state.status;
}

}  // namespace rondo
