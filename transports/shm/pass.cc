// A descriptor's way through a Unix socket.
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "shm/segment.h"

namespace rondo::shm {
namespace {

constexpr int kSendTimeoutMs = 5000;  // the socket is fresh: only a peer that is stopped makes us wait at all

/// A message of one Description and room for one descriptor.
struct Envelope {
  explicit Envelope(Description& description) : part{&description, sizeof description} {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;

  iovec part;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
};

/// The descriptor that came along; an invalid Fd where none did.
Fd attached(msghdr& message) {
  Fd found;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(part), sizeof fd);
    found = Fd(fd);
  }
  return found;
}

}  // namespace

Status send_segment(const Fd& socket, const Description& description, const Fd& memfd) {
  Description copy = description;
  Envelope envelope(copy);
  cmsghdr* rights = CMSG_FIRSTHDR(&envelope.message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = memfd.get();
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  for (;;) {
    const ssize_t sent = ::sendmsg(socket.get(), &envelope.message, MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(sizeof copy)) return {};
    if (sent >= 0)
      return error(Code::SystemError, "passing shared memory: {} of {} bytes went", sent, sizeof copy);
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET)
      return error(Code::RemoteError, "the peer left before it took shared memory");
    if (errno != EAGAIN) return system_error("passing shared memory to the peer", errno);
    pollfd ready{socket.get(), POLLOUT, 0};
    if (::poll(&ready, 1, kSendTimeoutMs) == 0)
      return error(Code::Timeout, "the peer did not take shared memory within {} ms", kSendTimeoutMs);
  }
}

Result<std::optional<Received>> receive_segment(const Fd& socket) {
  Received received;
  Envelope envelope(received.description);
  const ssize_t got = ::recvmsg(socket.get(), &envelope.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) return std::optional<Received>();
    return system_error("receiving shared memory from the peer", errno);
  }
  received.memfd = attached(envelope.message);
  const Description& description = received.description;
  if (got == 0) return error(Code::RemoteError, "the peer left before it passed shared memory");
  if (got != static_cast<ssize_t>(sizeof description) || description.magic != kMagic)
    return error(Code::RemoteError, "the peer sent {} bytes that do not describe shared memory", got);
  if (description.version != kVersion)
    return error(Code::RemoteError, "the peer's shared memory has version {}; this end knows {}",
                 description.version, kVersion);
  if (!received.memfd.valid())
    return error(Code::RemoteError, "the peer described shared memory but passed none");
  return std::optional<Received>(std::move(received));
}

}  // namespace rondo::shm
