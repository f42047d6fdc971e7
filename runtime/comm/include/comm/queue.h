// Queue and Event: asynchronous calls with the order guarantees of a CUDA stream. A queue is a thread that
// takes its work in order. Any thread.
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
  ~Queue();  // completes what is in it

  void push(std::function<Status()> work);
  /// Waits until it is empty; the first error since the last synchronisation. Each piece of work ends at its
  /// own deadline, and so does this.
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

class Event {
 public:
  /// Completes when all that is now in the queue is done.
  void record(Queue& queue);
  /// What comes after this in the queue waits for the event as it is recorded now.
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
  std::shared_ptr<State> state_ =
      std::make_shared<State>();  // outlives the event where a queue still uses it
};

/// Runs `work` once, when all the queues have come to it; those after it in any of them wait for it.
void push_jointly(const std::vector<Queue*>& queues, const std::function<Status()>& work);

}  // namespace rondo
