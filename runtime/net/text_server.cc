// SPDX-License-Identifier: Apache-2.0
#include "net/text_server.h"

#include <unistd.h>

#include <new>
#include <utility>

#include "net/socket.h"

namespace rondo {

TextServer::TextServer(EventLoop& event_loop, Fd listener, std::function<std::string()> text,
                       OnNamed on_named)
    : event_loop_(event_loop),
      on_named_(std::move(on_named)),
      text_(event_loop, std::move(text)),
      sender_(event_loop) {
  std::vector<Fd> listeners;
  listeners.push_back(std::move(listener));
  event_loop_.call([&] {
    listeners_ = std::make_unique<PacedListeners>(
        event_loop_, std::move(listeners),
        [this](Fd fd, const Address& from) { welcome(from.abstract_name(), std::move(fd)); });
  });
}

TextServer::~TextServer() {
  event_loop_.call([this] {
    listeners_.reset();
    text_.forget();
    sender_.drop_all();
  });
}

void TextServer::welcome(const std::string& name, Fd fd) try {
  const auto peer = peer_credentials(fd.get());
  if (!peer.ok() || peer.value().uid != ::geteuid()) return;
  if (!name.empty() && on_named_ && on_named_(name, fd)) return;
  sender_.send(std::move(fd), text_.get());
} catch (const std::bad_alloc&) {
  sender_.drop_all();
}

}  // namespace rondo
