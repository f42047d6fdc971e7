// SPDX-License-Identifier: Apache-2.0
#include "net/text_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include "net/socket.h"

namespace rondo {

TextServer::TextServer(EventLoop& event_loop, Fd listener, std::function<std::string()> text,
                       OnNamed on_named)
    : event_loop_(event_loop),
      listener_(std::move(listener)),
      on_named_(std::move(on_named)),
      text_(event_loop, std::move(text)),
      sender_(event_loop) {
  event_loop_.call(
      [this] { event_loop_.watch(listener_.get(), EPOLLIN, [this](uint32_t) { accept_some(); }); });
}

TextServer::~TextServer() {
  event_loop_.call([this] {
    event_loop_.unwatch(listener_.get());
    event_loop_.cancel(pause_);
    text_.forget();
    sender_.drop_all();
  });
}

void TextServer::accept_some() {
  for (int taken = 0; taken < kAtATime; ++taken) {
    Address from;
    Fd fd = accept_pending(listener_, from);
    if (!fd.valid()) {
      if (errno != EAGAIN) pause();  // no descriptor is left, say
      return;
    }
    const auto peer = peer_credentials(fd.get());
    if (peer.ok() && peer.value().uid == ::geteuid()) welcome(from.abstract_name(), std::move(fd));
  }
  pause();
}

void TextServer::pause() {
  event_loop_.change(listener_.get(), 0);
  pause_ = event_loop_.after_ms(kPause_ms, [this] { event_loop_.change(listener_.get(), EPOLLIN); });
}

void TextServer::welcome(const std::string& name, Fd fd) try {
  if (!name.empty() && on_named_ && on_named_(name, fd)) return;
  sender_.send(std::move(fd), text_.get());
} catch (const std::bad_alloc&) {
  sender_.drop_all();
}

}  // namespace rondo
