// SPDX-License-Identifier: Apache-2.0
#include "plugin/meeting_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/quiet_thread.h"

namespace rondo::plugin {
namespace {

void make_readable(const Fd& event) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event.get(), &one, sizeof one);
}

}  // namespace

MeetingThread::~MeetingThread() {
  if (!thread_.joinable()) return;
  make_readable(stop_);
  thread_.join();
}

Status MeetingThread::begin(Fd socket) {
  done_ = Fd(::eventfd(0, EFD_CLOEXEC));
  stop_ = Fd(::eventfd(0, EFD_CLOEXEC));
  if (!done_.valid() || !stop_.valid()) return system_error("eventfd", errno);
  meeting_.begin(std::move(socket));
  RONDO_TRY_ASSIGN(thread_, try_quiet_thread("rondo-handshake", [this] { run(); }));
  return {};
}

void MeetingThread::run() {
  meeting_.make_offer();
  constexpr int kStep_ms = 1;  // a plugin does not tell when it can go on
  while (!meeting_.advance())
    if (must_stop(meeting_.waits_for_plugin() ? kStep_ms : -1)) return;
  is_over_.store(true, std::memory_order_release);  // pairs with is_over(): the comms are complete
  make_readable(done_);
}

/// Waits for the peer to say something, but at most this long.
bool MeetingThread::must_stop(int timeout_ms) const {
  pollfd waiting[2] = {{meeting_.socket(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  // What the peer has said already may not matter yet.
  if (meeting_.waits_for_plugin()) waiting[0].fd = -1;
  const int ready = ::poll(waiting, 2, timeout_ms);
  return ready > 0 && waiting[1].revents != 0;
}

}  // namespace rondo::plugin
