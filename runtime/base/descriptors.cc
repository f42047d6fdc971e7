// SPDX-License-Identifier: Apache-2.0
// Passing descriptors through a Unix socket.
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/shared_segment.h"

namespace rondo {
namespace {

constexpr int kSendTimeoutMs = 5000;  // the socket is fresh: a send blocks only if the peer is stopped

/// A message with space for descriptors.
struct Envelope {
  explicit Envelope(std::span<std::byte> body) : part{body.data(), body.size()} {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;

  iovec part;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  msghdr message = {};
};

void attach(Envelope& envelope, std::span<const int> descriptors) {
  if (descriptors.empty()) {
    envelope.message.msg_control = nullptr;
    envelope.message.msg_controllen = 0;
    return;
  }
  envelope.message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* rights = CMSG_FIRSTHDR(&envelope.message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
}

std::vector<Fd> attached(msghdr& message) {
  std::vector<Fd> found;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      found.emplace_back(fd);
    }
  }
  return found;
}

}  // namespace

Result<bool> try_to_send_descriptors(const Fd& socket, std::span<const std::byte> message,
                                     std::span<const int> descriptors) {
  std::vector<std::byte> copy(message.begin(), message.end());
  Envelope envelope(copy);
  attach(envelope, descriptors);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket.get(), &envelope.message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(copy.size())) return true;
  if (sent >= 0)
    return error(Code::SystemError, "passing shared memory: {} of {} bytes were sent", sent, copy.size());
  if (errno == EAGAIN) return false;
  if (errno == EPIPE || errno == ECONNRESET)
    return error(Code::RemoteError, "the peer left before it took shared memory");
  return system_error("passing shared memory to the peer", errno);
}

Status send_descriptors(const Fd& socket, std::span<const std::byte> message,
                        std::span<const int> descriptors) {
  for (;;) {
    RONDO_TRY_ASSIGN(const bool sent, try_to_send_descriptors(socket, message, descriptors));
    if (sent) return {};
    pollfd ready{socket.get(), POLLOUT, 0};
    if (::poll(&ready, 1, kSendTimeoutMs) == 0)
      return error(Code::Timeout, "the peer did not take shared memory within {} ms", kSendTimeoutMs);
  }
}

Result<std::optional<Descriptors>> receive_descriptors(const Fd& socket, std::span<std::byte> message) {
  Descriptors received;
  Envelope envelope(message);
  const ssize_t got = ::recvmsg(socket.get(), &envelope.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) return std::optional<Descriptors>();
    return system_error("receiving shared memory from the peer", errno);
  }
  received.bytes = static_cast<size_t>(got);
  received.attached = attached(envelope.message);
  received.lost = (envelope.message.msg_flags & MSG_CTRUNC) != 0;
  return std::optional<Descriptors>(std::move(received));
}

}  // namespace rondo
