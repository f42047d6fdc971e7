// SPDX-License-Identifier: Apache-2.0
#include "common/peer_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace rondo {
namespace {

template <class Message>
void send_whole(int socket, const Message& message) {
  const ssize_t sent = ::send(socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(sizeof message)) ::shutdown(socket, SHUT_RDWR);
}

}  // namespace

PeerSocket::PeerSocket(const Farewell& farewell) : got_(sizeof farewell), closed_(true) {
  std::memcpy(bytes_.data(), &farewell, sizeof farewell);
}

template <class Said>
std::optional<Said> PeerSocket::said() const {
  Said message;
  if (got_ != sizeof message) return std::nullopt;
  std::memcpy(&message, bytes_.data(), sizeof message);
  return message.magic == Said::kMagic ? std::optional(message) : std::nullopt;
}

/// One message: behind a Farewell comes the end, and behind an Interruption what another reader expects.
void PeerSocket::look() {
  while (!closed_ && socket_.valid() && !said<Interruption>()) {
    const bool is_farewell = said<Farewell>().has_value();
    const size_t wanted = got_ < sizeof(Farewell) ? sizeof(Farewell) : bytes_.size();
    const ssize_t got =
        is_farewell ? 0 : ::recv(socket_.get(), bytes_.data() + got_, wanted - got_, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got > 0) got_ += static_cast<size_t>(got);
    closed_ = got <= 0;
  }
}

std::optional<Farewell> PeerSocket::farewell() const { return closed_ ? said<Farewell>() : std::nullopt; }

std::optional<Interruption> PeerSocket::interrupted_by_peer() const {
  auto interruption = said<Interruption>();
  if (!interruption) return std::nullopt;
  interruption->reason.back() = '\0';
  interruption->reason = wire_text(interruption->reason.data());
  return interruption;
}

void PeerSocket::say(const Farewell& own) const { send_whole(socket_.get(), own); }

void PeerSocket::say(const Interruption& own) const { send_whole(socket_.get(), own); }

}  // namespace rondo
