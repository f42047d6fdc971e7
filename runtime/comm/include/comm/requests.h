// SPDX-License-Identifier: Apache-2.0
// Requests: sends and receives, and prepared calls, that a communicator has started and no caller has waited
// for yet. A waiting caller makes progress on all of them; while there is none, a background thread does. Any
// thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/status.h"
#include "health/pending.h"

namespace rondo {

struct GroupOp;

/// One of them. Owned by Requests until it is over; afterwards its communicator may be gone.
class Request;

class Requests {
 public:
  using Told = std::function<void(const Status&)>;
  ~Requests() { close(); }

  /// The request takes its place in the order of the communicator's messages at once.
  std::shared_ptr<Request> start(GroupOp op);
  /// A request that can be started again and again, of calls of one communicator, which must outlive it.
  static std::shared_ptr<Request> prepare(std::span<const GroupOp> ops);
  /// Reserves a prepared request for one start or one other use; InvalidUsage if it is reserved. A start
  /// holds it until its result was returned or told.
  static Status claim(Request& request);
  static void unclaim(Request& request);
  /// Starts a prepared request that the caller has claimed. Calls take their turn now.
  void start(const std::shared_ptr<Request>& request);
  /// Reserves it for good; InvalidUsage if it is under way.
  Status retire(Request& request);
  /// Waits until it is over; InProgress after the timeout; 0 ms: no timeout.
  Status wait(Request& request, int64_t timeout_ms);
  /// Its result, or InProgress.
  Status query(Request& request);
  /// Calls `told` once, when the request is over: now, or on the thread that completes it.
  void tell(Request& request, Told told);
  /// Fails all unfinished requests and joins the thread. Returns the sends among them of which the receivers
  /// have not got all.
  MessageNotes close();
  /// Whether its communicator has ended its calls, or is gone.
  bool is_closed() const { return closed_.load(std::memory_order_acquire); }

 private:
  /// Callbacks of completed requests with their results, to be called without the mutex.
  using News = std::vector<std::pair<Told, Status>>;
  void begin(const std::shared_ptr<Request>& request, News& news);
  void start_thread(News& news);
  bool advance(News& news);
  void look(const Request* awaited);
  void end(Request& request, const Status& status, News& news);
  static void report(Request& request);
  static void spread(const News& news);
  void sleep_for(int64_t ns, Request* request = nullptr);
  void loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Request>> under_way_;  // in the order of the calls
  int waiting_ = 0;                                // threads in wait(), which then do the work
  int sleeping_ = 0;                               // threads in sleep_for()
  std::atomic<bool> closed_{false};
  std::thread thread_;  // started by the first request that does not complete at once
};

}  // namespace rondo
