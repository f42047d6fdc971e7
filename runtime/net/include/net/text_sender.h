// SPDX-License-Identifier: Apache-2.0
// TextSender: sends texts to sockets, and hangs up. The sockets are limited in number and in time, so that no
// reader can keep the service thread from its other work, nor take the descriptors of the process.
// FreshText: a text that many readers get, made anew when it is old. All methods but the constructors on the
// service thread, where drop_all() and forget() precede the destructors.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/fd.h"
#include "net/event_loop.h"

namespace rondo {

using SharedText = std::shared_ptr<const std::string>;

class TextSender {
 public:
  static constexpr size_t kMaxClients = 8;       // the next one takes the place of the oldest
  static constexpr int64_t kPatience_ms = 1000;  // how long a client may take to read

  explicit TextSender(EventLoop& event_loop) : event_loop_(event_loop) {}

  /// A non-blocking socket.
  void send(Fd fd, SharedText text);
  /// Hangs up on all.
  void drop_all();

 private:
  struct Client {
    Fd fd;
    SharedText text;
    size_t sent = 0;
    EventLoop::Timer timer = 0;
  };
  using Clients = std::list<Client>;

  void send_more(Clients::iterator client);
  void drop(Clients::iterator client);

  EventLoop& event_loop_;
  Clients clients_;  // oldest first
};

class FreshText {
 public:
  static constexpr int64_t kReuse_ms = 50;  // readers within this time get the same text

  FreshText(EventLoop& event_loop, std::function<std::string()> text)
      : event_loop_(event_loop), text_(std::move(text)) {}

  SharedText get();
  void forget();

 private:
  EventLoop& event_loop_;
  const std::function<std::string()> text_;
  SharedText current_;  // null: out of date
  EventLoop::Timer expiry_ = 0;
};

}  // namespace rondo
