// SPDX-License-Identifier: Apache-2.0
#include "net/event_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/disowned.h"
#include "base/quiet_thread.h"

namespace rondo {
namespace {

/// Closing a descriptor does not wake the thread that sleeps on it, so the thread wakes this often to check.
constexpr int kLook_ms = 1000;

}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::start() {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return system_error("cannot make an epoll descriptor", errno);
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return system_error("cannot make an event descriptor", errno);
  std::unique_ptr<EventLoop> poller(new EventLoop(std::move(epoll), std::move(wake)));
  RONDO_TRY_ASSIGN(poller->thread_, try_quiet_thread("rondo-service", [raw = poller.get()] { raw->loop(); }));
  return poller;
}

EventLoop::EventLoop(Fd epoll, Fd wake) : epoll_(std::move(epoll)), wake_(std::move(wake)) {
  watch(wake_.get(), EPOLLIN, [this](uint32_t) {
    uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(wake_.get(), &count, sizeof count);
  });
}

EventLoop::~EventLoop() {
  post([this] {
    std::lock_guard lock(mutex_);
    stop_ = true;
  });
  if (thread_.joinable()) thread_.join();
}

void EventLoop::post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  posting_.notify_one();
  const uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof one) < 0 && errno != EAGAIN) disown_descriptors();
}

void EventLoop::call(const std::function<void()>& work) {
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  post([&] {
    work();
    std::lock_guard lock(mutex);
    finished = true;
    done.notify_one();
  });
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return finished; });  // bounded: nothing on the service thread blocks
}

void EventLoop::watch(int fd, uint32_t events, Handler handler) {
  const uint64_t tag = uint64_t{++watches_} << 32 | static_cast<uint32_t>(fd);
  {
    const std::lock_guard lock(handlers_mutex_);
    handlers_[fd] = {tag, std::make_shared<Handler>(std::move(handler))};
  }
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void EventLoop::change(int fd, uint32_t events) {
  const auto found = handlers_.find(fd);
  if (found == handlers_.end()) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = found->second.tag;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::unwatch(int fd) {
  const std::lock_guard lock(handlers_mutex_);
  if (handlers_.erase(fd) != 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

EventLoop::Timer EventLoop::after_ms(int64_t delay_ms, std::function<void()> work) {
  timers_[next_timer_] = Due{now_ns() + delay_ms * 1'000'000, std::move(work)};
  return next_timer_++;
}

void EventLoop::close_in_child() {
  for (const auto& [fd, handler] : handlers_)
    if (fd != wake_.get()) ::close(fd);
  ::close(epoll_.get());
  ::close(wake_.get());
}

void EventLoop::run_posted() {
  std::vector<std::function<void()>> work;
  {
    std::lock_guard lock(mutex_);
    work.swap(posted_);
  }
  for (auto& one : work) one();
}

int EventLoop::run_timers() {
  for (;;) {
    const auto next = std::min_element(timers_.begin(), timers_.end(), [](const auto& a, const auto& b) {
      return a.second.at_ns < b.second.at_ns;
    });
    if (next == timers_.end()) return kLook_ms;
    const int64_t left_ns = next->second.at_ns - now_ns();
    if (left_ns > 0) return static_cast<int>(std::min<int64_t>(left_ns / 1'000'000 + 1, kLook_ms));
    const auto work = std::move(next->second.work);
    timers_.erase(next);
    work();
  }
}

/// Keeps running posted work, so that callers of call() do not wait forever.
void EventLoop::run_without_descriptors() {
  disown_descriptors();
  for (;;) {
    run_posted();
    std::unique_lock lock(mutex_);
    posting_.wait(lock, [this] { return stop_ || !posted_.empty(); });
    if (stop_) return;
  }
}

void EventLoop::loop() {
  constexpr int kBatch = 64;
  epoll_event events[kBatch];
  for (;;) {
    run_posted();
    {
      std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    const int count = ::epoll_wait(epoll_.get(), events, kBatch, run_timers());
    if (count < 0 && errno != EINTR) return run_without_descriptors();
    for (int i = 0; i < count; ++i) {
      const uint64_t tag = events[i].data.u64;
      const auto found = handlers_.find(static_cast<int>(static_cast<uint32_t>(tag)));
      if (found == handlers_.end() || found->second.tag != tag) continue;  // an earlier handler unwatched it
      const auto handler = found->second.handler;  // stays alive even if it unwatches itself
      (*handler)(events[i].events);
    }
  }
}

}  // namespace rondo
