// Poller: the one service thread of a process. It sleeps until a descriptor is ready or a timer is due, and
// runs what was registered for it. All methods but post() and call() belong to its thread, so the state that
// they guard needs no lock.
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

class Poller {
 public:
  static Result<std::unique_ptr<Poller>> start();
  ~Poller();  // not on its own thread

  /// Runs `work` on the thread, soon. Any thread.
  void post(std::function<void()> work);
  /// Runs `work` on the thread and waits until that is done. Any other thread.
  void call(const std::function<void()>& work);

  using Handler = std::function<void(uint32_t events)>;
  /// `handler` is called while any of `events` (EPOLLIN, EPOLLOUT) holds; errors and hang-ups always.
  void watch(int fd, uint32_t events, Handler handler);
  void change(int fd, uint32_t events);
  /// After it the handler is not called any more; before the descriptor is closed.
  void unwatch(int fd);

  using Timer = uint64_t;
  Timer after_ms(int64_t delay_ms, std::function<void()> work);
  void cancel(Timer timer) { timers_.erase(timer); }

  /// Around a fork: the child must not see the handlers half changed.
  void hold_handlers() { handlers_mutex_.lock(); }
  void release_handlers() { handlers_mutex_.unlock(); }
  /// In the child of a fork: closes the inherited descriptors, so that the parent's death is seen by its
  /// peers. The child has no service thread and must not use the Poller.
  void close_in_child();

 private:
  struct Due {
    int64_t at_ns;
    std::function<void()> work;
  };
  struct Watched {
    uint64_t tag;  // tells it from one that had the same descriptor's number, and an event that is still to
                   // be handled
    std::shared_ptr<Handler> handler;
  };
  Poller(Fd epoll, Fd wake);
  void loop();
  void run_posted();
  void run_without_descriptors();
  int run_timers();  // for how many milliseconds the thread may sleep

  Fd epoll_;
  Fd wake_;
  std::mutex handlers_mutex_;  // for changes of handlers_, which the thread alone makes
  std::map<int, Watched> handlers_;
  std::map<Timer, Due> timers_;
  Timer next_timer_ = 1;
  std::condition_variable posting_;  // for the thread where it has no descriptors any more
  std::mutex mutex_;                 // guards the two below
  std::vector<std::function<void()>> posted_;
  bool stop_ = false;
  std::thread thread_;
  uint32_t watches_ = 0;
};

}  // namespace rondo
