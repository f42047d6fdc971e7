// SPDX-License-Identifier: Apache-2.0
#include "verbs/conversation.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error_kinds.h"

namespace rondo::verbs {
namespace {

/// A peer that closes its socket before it has read everything resets it.
Status broken_off(int peer, int error_number) {
  if (error_number == 0 || error_number == ECONNRESET || error_number == EPIPE)
    return error(ErrorKind::ConnectionBroken, "rank {} closed the connection while it connected", peer);
  return error(ErrorKind::ConnectionBroken, "connecting to rank {} over verbs: {}", peer,
               std::strerror(error_number));
}

}  // namespace

Status Conversation::begin(Fd socket) {
  socket_ = std::move(socket);
  stop_ = Fd(::eventfd(0, EFD_CLOEXEC));
  return stop_.valid() ? Status() : system_error("eventfd", errno);
}

void Conversation::close() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof one);
}

Status Conversation::gave_up(const WireText& text) const {
  const Status reason = reason_of(text);
  return error(ErrorKind::PeerRefusesVerbs, "rank {} cannot connect over verbs: {}", peer_, reason.message())
      .because(reason.kind())
      .as(peer_refuses_ ? Code::Unsupported : Code::InvalidUsage);
}

Status Conversation::was_closed() const {
  return error(Code::Aborted, "the connection to rank {} was closed while it connected", peer_);
}

Status Conversation::wait_for_socket(short events) const {
  pollfd waiting[2] = {{socket_.get(), events, 0}, {stop_.get(), POLLIN, 0}};
  while (::poll(waiting, 2, -1) < 0)
    if (errno != EINTR) return system_error("poll", errno);
  return waiting[1].revents == 0 ? Status() : was_closed();
}

Result<bool> Conversation::speaks_before(int descriptor, bool or_message, const Deadline& deadline) const {
  pollfd waiting[3] = {
      {or_message ? socket_.get() : -1, POLLIN, 0}, {descriptor, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (::poll(waiting, 3, deadline.left_ms()) < 0)
    if (errno != EINTR) return system_error("poll", errno);
  if (waiting[2].revents != 0) return was_closed();
  if ((waiting[1].revents & ~POLLIN) != 0)
    return error(ErrorKind::QueuePairFailed, "the completion channel of a queue pair to rank {} has failed",
                 peer_)
        .as(Code::SystemError);
  return waiting[0].revents != 0 && waiting[1].revents == 0;
}

void Conversation::end_sending() const { ::shutdown(socket_.get(), SHUT_WR); }

/// A peer that has closed its end may have said why: receiving tells.
Status Conversation::send_bytes(const void* data, size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes != 0) {
    const ssize_t sent = ::send(socket_.get(), at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return {};
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return broken_off(peer_, errno);
    if (sent < 0) {
      RONDO_TRY(wait_for_socket(POLLOUT));
      continue;
    }
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return {};
}

/// In what has come before the end.
void Conversation::find_farewell(const std::byte* begin, const std::byte* end) {
  Farewell found;
  if (end - begin != static_cast<ptrdiff_t>(sizeof found)) return;
  std::memcpy(&found, begin, sizeof found);
  if (found.magic == Farewell::kMagic) farewell_ = found;
}

Status Conversation::receive_bytes(void* data, size_t bytes) {
  auto* at = static_cast<std::byte*>(data);
  while (bytes != 0) {
    RONDO_TRY(wait_for_socket(POLLIN));
    const ssize_t got = ::recv(socket_.get(), at, bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      const int cause = got == 0 ? 0 : errno;
      find_farewell(static_cast<const std::byte*>(data), at);
      return broken_off(peer_, cause);
    }
    if (got < 0) continue;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return {};
}

}  // namespace rondo::verbs
