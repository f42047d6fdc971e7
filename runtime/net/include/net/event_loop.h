// SPDX-License-Identifier: Apache-2.0
// EventLoop: the one service thread of a process. It sleeps until a descriptor is ready or a timer is due and
// runs the handler registered for it. All methods but post() and call() must be called on that thread, so the
// state that handlers touch needs no lock.
#pragma once

#include <sys/epoll.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/status.h"

namespace rondo {

class EventLoop {
 public:
  static Result<std::unique_ptr<EventLoop>> start();
  ~EventLoop();  // not on its own thread

  /// Runs `work` on the thread, soon. Any thread.
  void post(std::function<void()> work);
  /// Runs `work` on the thread and waits until it has returned. Any other thread.
  void call(const std::function<void()>& work);

  using Handler = std::function<void(uint32_t events)>;
  /// `handler` is called while any of `events` (EPOLLIN, EPOLLOUT) holds, and always on errors and hang-ups.
  void watch(int fd, uint32_t events, Handler handler);
  void change(int fd, uint32_t events);
  /// The handler is not called after this. Call it before closing the descriptor.
  void unwatch(int fd);

  using Timer = uint64_t;
  Timer after_ms(int64_t delay_ms, std::function<void()> work);
  void cancel(Timer timer) { timers_.erase(timer); }

  /// Held across a fork, so that the child does not inherit half-changed handlers.
  void hold_handlers() { handlers_mutex_.lock(); }
  void release_handlers() { handlers_mutex_.unlock(); }
  /// In the child of a fork: closes the inherited descriptors, so that the parent's peers notice its death.
  /// The child has no service thread and must not use the EventLoop.
  void close_in_child();

 private:
  struct Due {
    int64_t at_ns;
    std::function<void()> work;
  };
  struct WatchedComm {
    uint64_t tag;  // distinguishes it from an earlier one of the same fd whose event is still pending
    std::shared_ptr<Handler> handler;
  };
  EventLoop(Fd epoll, Fd wake);
  void loop();
  void run_posted();
  void run_without_descriptors();
  int run_timers();  // returns the milliseconds that the thread may sleep

  Fd epoll_;
  Fd wake_;
  std::mutex handlers_mutex_;  // held to change handlers_, which only the service thread does
  std::map<int, WatchedComm> handlers_;
  std::map<Timer, Due> timers_;
  Timer next_timer_ = 1;
  std::condition_variable posting_;  // wakes the thread once it has lost its descriptors
  std::mutex mutex_;                 // guards posted_ and stop_
  std::vector<std::function<void()>> posted_;
  bool stop_ = false;
  std::thread thread_;
  uint32_t watches_ = 0;
};

}  // namespace rondo
