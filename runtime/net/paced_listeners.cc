// SPDX-License-Identifier: Apache-2.0
#include "net/paced_listeners.h"

#include <sys/epoll.h>

#include <cerrno>
#include <utility>

namespace rondo {

PacedListeners::PacedListeners(EventLoop& event_loop, std::vector<Fd> listeners, Welcome welcome)
    : event_loop_(event_loop), listeners_(std::move(listeners)), welcome_(std::move(welcome)) {
  for (const Fd& listener : listeners_)
    event_loop_.watch(listener.get(), EPOLLIN, [this, &listener](uint32_t) { accept_some(listener); });
}

PacedListeners::~PacedListeners() {
  for (const Fd& listener : listeners_) event_loop_.unwatch(listener.get());
  event_loop_.cancel(pause_);
}

void PacedListeners::accept_some(const Fd& listener) {
  for (int taken = 0; taken < kAtATime; ++taken) {
    Address from;
    Fd fd = accept_pending(listener, from);
    if (!fd.valid()) {
      if (errno != EAGAIN) pause();  // no descriptor is left, say
      return;
    }
    welcome_(std::move(fd), from);
  }
  pause();
}

void PacedListeners::pause() {
  event_loop_.cancel(pause_);
  for (const Fd& listener : listeners_) event_loop_.change(listener.get(), 0);
  pause_ = event_loop_.after_ms(kPause_ms, [this] {
    for (const Fd& listener : listeners_) event_loop_.change(listener.get(), EPOLLIN);
  });
}

}  // namespace rondo
