// SPDX-License-Identifier: Apache-2.0
// Queue and QueueEvent: asynchronous calls with the ordering guarantees of a CUDA stream. A queue is a thread
// that runs its work in order. Any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/disowned.h"
#include "base/status.h"

namespace rondo {

/// Pieces of work in order.
using QueueWork = std::list<std::function<Status()>>;

class Queue {
 public:
  Queue();
  ~Queue();  // completes all queued work

  void push(std::function<Status()> work);
  /// The same, without allocating.
  void push(QueueWork&& work) noexcept;
  /// Waits until the queue is empty; returns the first error since the last synchronization. Bounded, since
  /// each piece of work ends at its own deadline.
  Status synchronize();
  /// Ok, InProgress, or the first error.
  Status query();

 private:
  void loop();
  InUse in_use_;
  std::mutex mutex_;
  std::condition_variable changed_;
  QueueWork work_;
  bool busy_ = false;
  bool stop_ = false;
  Status first_error_;
  std::thread thread_;
};

class QueueEvent {
 public:
  /// The event completes when all work now in the queue is done.
  void record(Queue& queue);
  /// Later work in the queue waits for the event's most recent record().
  void hold(Queue& queue);
  bool complete();
  void synchronize();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t recorded = 0;
    uint64_t completed = 0;
  };
  static void wait(State& state, uint64_t number);
  std::shared_ptr<State> state_ = std::make_shared<State>();  // outlives the event if a queue still uses it
};

/// Work that is done once, when several queues have reached it; later work in each of them waits for it.
class QueueMeeting {
 public:
  /// Allocates all that push() needs.
  QueueMeeting(const std::vector<Queue*>& queues, std::function<Status()> work);
  /// Puts it into all the queues. Called once.
  void push() noexcept;
  /// Waits until the work is done, and returns its result.
  Status wait();

 private:
  struct MeetingState {
    std::function<Status()> work;
    size_t expected = 0;
    std::mutex mutex;
    std::condition_variable changed;
    size_t arrived = 0;
    bool done = false;
    Status status;
  };
  static Status await(MeetingState& state, std::unique_lock<std::mutex>& lock);
  static Status arrive(MeetingState& state);
  const std::shared_ptr<MeetingState> state_;  // outlives this object while a queue uses it
  std::vector<std::pair<Queue*, QueueWork>> arrivals_;
};

}  // namespace rondo
