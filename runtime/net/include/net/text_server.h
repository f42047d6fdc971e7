// SPDX-License-Identifier: Apache-2.0
// TextServer: gives every process of this user that connects to a Unix socket a text, and hangs up. What
// clients write is not read: a client that wants something else says so by the abstract name of its own end.
// They are limited in number, in time and in rate, so that no client, of this user or another, can keep the
// service thread from its other work.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "net/event_loop.h"
#include "net/paced_listeners.h"
#include "net/text_sender.h"

namespace rondo {

class TextServer {
 public:
  static constexpr size_t kMaxClients = TextSender::kMaxClients;
  static constexpr int64_t kReuse_ms = FreshText::kReuse_ms;

  /// Takes the socket of a client whose own end has a name; false: this one gets the text as others do.
  using OnNamed = std::function<bool(const std::string& name, Fd& fd)>;

  /// Both functions are called on the service thread. Any other thread; likewise the destructor.
  TextServer(EventLoop& event_loop, Fd listener, std::function<std::string()> text,
             OnNamed on_named = nullptr);
  ~TextServer();

 private:
  // On the service thread only.
  void welcome(const std::string& name, Fd fd);

  EventLoop& event_loop_;
  const OnNamed on_named_;
  FreshText text_;
  TextSender sender_;
  std::unique_ptr<PacedListeners> listeners_;
};

}  // namespace rondo
