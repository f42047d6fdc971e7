// SPDX-License-Identifier: Apache-2.0
// PacedListeners: takes the connections of listening sockets at a limited rate, so that a flood of them does
// not keep the service thread from its other work.
#pragma once

#include <functional>
#include <vector>

#include "base/fd.h"
#include "net/event_loop.h"
#include "net/socket.h"

namespace rondo {

class PacedListeners {
 public:
  static constexpr int kAtATime = 16;  // connections, and then none for kPause_ms
  static constexpr int64_t kPause_ms = 50;
  static constexpr int kBacklog = 64;  // for the listeners

  using Welcome = std::function<void(Fd fd, const Address& from)>;

  /// On the service thread only; likewise the destructor.
  PacedListeners(EventLoop& event_loop, std::vector<Fd> listeners, Welcome welcome);
  ~PacedListeners();

 private:
  void accept_some(const Fd& listener);
  void pause();

  EventLoop& event_loop_;
  const std::vector<Fd> listeners_;
  const Welcome welcome_;
  EventLoop::Timer pause_ = 0;
};

}  // namespace rondo
