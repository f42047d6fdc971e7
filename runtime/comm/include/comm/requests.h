// Requests: sends and receives that a communicator has started and that nobody has waited for yet. Whoever
// waits carries all of them on; while nobody does, a thread of its own is patient with them. Any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/part.h"

namespace rondo {

/// One of them. Belongs to Requests until it is over; afterwards its communicator may be gone.
class Request {
 public:
  explicit Request(Item asked)
      : item_(std::move(asked)),
        crowded_(item_.communicator->crowded()),
        part_(*item_.communicator, {&item_, 1}, streams_) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

 private:
  friend class Requests;
  Item item_;
  bool crowded_;
  MessageStreams streams_;
  Part part_;
  // Guarded by the mutex of Requests:
  bool over_ = false;
  Status status_;
  std::vector<std::function<void(const Status&)>> told_;
};

class Requests {
 public:
  using Told = std::function<void(const Status&)>;
  ~Requests() { close(); }

  /// Takes its place among the communicator's messages at once.
  std::shared_ptr<Request> start(Item item);
  /// Until it is over, or InProgress where that takes longer; 0 ms: however long it takes.
  Status wait(Request& request, int64_t timeout_ms);
  /// How it went, or InProgress.
  Status query(Request& request);
  /// `told` is called once, when it is over: by whichever thread finds that, or now.
  void tell(Request& request, Told told);
  /// Those that are not over fail, and no thread is left.
  void close();

 private:
  /// Those that are over, and who is to be told; that is done without the mutex.
  using News = std::vector<std::pair<Told, Status>>;
  void start_thread(News& news);
  bool advance(News& news);
  void look(int64_t waited_ns, const Request* awaited);
  void end(Request& request, const Status& status, News& news);
  static void spread(const News& news);
  void nap(int64_t ns, Request* request = nullptr);
  void loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Request>> under_way_;  // in the order of the calls
  int waiting_ = 0;                                // threads in wait(); they do the work meanwhile
  int napping_ = 0;                                // threads in nap()
  bool closed_ = false;
  std::thread thread_;  // from the first request on that is not over at once
};

}  // namespace rondo
