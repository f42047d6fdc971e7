// SPDX-License-Identifier: Apache-2.0
// Queue and QueueEvent: asynchronous calls with the ordering guarantees of a CUDA stream. A queue is a thread
// that runs its work in order. Any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/disowned.h"
#include "base/status.h"

namespace rondo {

class Queue {
 public:
  Queue();
  ~Queue();  // completes all queued work

  void push(std::function<Status()> work);
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
  std::deque<std::function<Status()>> work_;
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

/// Runs `work` once, when all the queues have reached it; later work in each of them waits for it.
void push_together(const std::vector<Queue*>& queues, const std::function<Status()>& work);

}  // namespace rondo
