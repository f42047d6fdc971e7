// SPDX-License-Identifier: Apache-2.0
// TextServer: gives every process of this user that connects to a Unix socket a text, and hangs up. What
// clients write is not read. They are limited in number, in time and in rate, so that no client, of this
// user or another, can keep the service thread from its other work.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/fd.h"
#include "net/event_loop.h"

namespace rondo {

class TextServer {
 public:
  static constexpr size_t kMaxClients = 8;       // the next one takes the place of the oldest
  static constexpr int64_t kPatience_ms = 1000;  // how long a client may take to read
  static constexpr int64_t kReuse_ms = 50;       // clients within this time get the same text
  static constexpr int kAtATime = 16;            // connections, and then none for kPause_ms
  static constexpr int64_t kPause_ms = kReuse_ms;
  static constexpr int kBacklog = 64;  // for the listener

  /// `text` is called on the service thread. Any other thread; likewise the destructor.
  TextServer(EventLoop& event_loop, Fd listener, std::function<std::string()> text);
  ~TextServer();

 private:
  using SharedText = std::shared_ptr<const std::string>;
  struct Client {
    Fd fd;
    SharedText text;
    size_t sent = 0;
    EventLoop::Timer timer = 0;
  };
  using Clients = std::list<Client>;

  // On the service thread only.
  void accept_some();
  void pause();
  void welcome(Fd fd);
  void send_more(Clients::iterator client);
  void drop(Clients::iterator client);
  SharedText current_text();

  EventLoop& event_loop_;
  const Fd listener_;
  const std::function<std::string()> text_;
  SharedText current_;  // null: out of date
  EventLoop::Timer expiry_ = 0;
  EventLoop::Timer pause_ = 0;
  Clients clients_;  // oldest first
};

}  // namespace rondo
