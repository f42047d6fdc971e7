// SPDX-License-Identifier: Apache-2.0
#include "net/text_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include "net/socket.h"

namespace rondo {

TextServer::TextServer(EventLoop& event_loop, Fd listener, std::function<std::string()> text)
    : event_loop_(event_loop), listener_(std::move(listener)), text_(std::move(text)) {
  event_loop_.call(
      [this] { event_loop_.watch(listener_.get(), EPOLLIN, [this](uint32_t) { accept_some(); }); });
}

TextServer::~TextServer() {
  event_loop_.call([this] {
    event_loop_.unwatch(listener_.get());
    event_loop_.cancel(expiry_);
    event_loop_.cancel(pause_);
    while (!clients_.empty()) drop(clients_.begin());
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
    if (peer.ok() && peer.value().uid == ::geteuid()) welcome(std::move(fd));
  }
  pause();
}

void TextServer::pause() {
  event_loop_.change(listener_.get(), 0);
  pause_ = event_loop_.after_ms(kPause_ms, [this] { event_loop_.change(listener_.get(), EPOLLIN); });
}

void TextServer::welcome(Fd fd) try {
  SharedText text = current_text();
  if (clients_.size() >= kMaxClients) drop(clients_.begin());
  clients_.push_back({.fd = std::move(fd), .text = std::move(text)});
  const auto client = std::prev(clients_.end());
  client->timer = event_loop_.after_ms(kPatience_ms, [this, client] { drop(client); });
  event_loop_.watch(client->fd.get(), EPOLLOUT, [this, client](uint32_t) { send_more(client); });
  send_more(client);
} catch (const std::bad_alloc&) {
  while (!clients_.empty()) drop(clients_.begin());  // the last may be incomplete
}

void TextServer::send_more(Clients::iterator client) {
  const std::string& text = *client->text;
  while (client->sent < text.size()) {
    const ssize_t sent =
        ::send(client->fd.get(), text.data() + client->sent, text.size() - client->sent, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) break;  // it hung up
    client->sent += static_cast<size_t>(sent);
  }
  drop(client);
}

void TextServer::drop(Clients::iterator client) {
  event_loop_.cancel(client->timer);
  event_loop_.unwatch(client->fd.get());
  clients_.erase(client);
}

TextServer::SharedText TextServer::current_text() {
  if (current_) return current_;
  current_ = std::make_shared<const std::string>(text_());
  expiry_ = event_loop_.after_ms(kReuse_ms, [this] { current_.reset(); });
  return current_;
}

}  // namespace rondo
