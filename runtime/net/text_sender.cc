// SPDX-License-Identifier: Apache-2.0
#include "net/text_sender.h"

#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <utility>

namespace rondo {

void TextSender::drop_all() {
  while (!clients_.empty()) drop(clients_.begin());
}

void TextSender::send(Fd fd, SharedText text) try {
  if (clients_.size() >= kMaxClients) drop(clients_.begin());
  clients_.push_back({.fd = std::move(fd), .text = std::move(text)});
  const auto client = std::prev(clients_.end());
  client->timer = event_loop_.after_ms(kPatience_ms, [this, client] { drop(client); });
  event_loop_.watch(client->fd.get(), EPOLLOUT, [this, client](uint32_t) { send_more(client); });
  send_more(client);
} catch (const std::bad_alloc&) {
  drop_all();  // the last may be incomplete
}

void TextSender::send_more(Clients::iterator client) {
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

void TextSender::drop(Clients::iterator client) {
  event_loop_.cancel(client->timer);
  event_loop_.unwatch(client->fd.get());
  clients_.erase(client);
}

void FreshText::forget() {
  event_loop_.cancel(expiry_);
  current_.reset();
}

SharedText FreshText::get() {
  if (current_) return current_;
  auto text = std::make_shared<const std::string>(text_());
  expiry_ = event_loop_.after_ms(kReuse_ms, [this] { current_.reset(); });
  return current_ = std::move(text);  // last: a text without an expiry would stay
}

}  // namespace rondo
