// SPDX-License-Identifier: Apache-2.0
#include "verbs/peer_socket.h"

#include <sys/socket.h>

#include <cerrno>

namespace rondo::verbs {

/// A Farewell is the last that comes, complete or not.
void PeerSocket::look() {
  while (!closed_ && socket_.valid()) {
    auto* const to = reinterpret_cast<std::byte*>(&farewell_) + got_;
    const ssize_t got = ::recv(socket_.get(), to, sizeof farewell_ - got_, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got > 0) got_ += static_cast<size_t>(got);
    closed_ = got <= 0 || got_ == sizeof farewell_;
  }
}

std::optional<uint64_t> PeerSocket::delivered_by_peer() const {
  if (!closed_ || got_ != sizeof farewell_ || farewell_.magic != Farewell::kMagic) return std::nullopt;
  return farewell_.delivered;
}

void PeerSocket::say_farewell(uint64_t delivered) const {
  const Farewell farewell{.delivered = delivered};
  ::send(socket_.get(), &farewell, sizeof farewell, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace rondo::verbs
