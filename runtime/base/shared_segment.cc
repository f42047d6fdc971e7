// SPDX-License-Identifier: Apache-2.0
#include "base/shared_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <poll.h>
#include <sys/socket.h>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error_kinds.h"

namespace rondo {
namespace {

/// Checks a memfd received from a peer.
Status check(const Fd& memfd, size_t bytes) {
  struct stat found {};
  if (::fstat(memfd.get(), &found) != 0) return system_error("a descriptor of shared memory", errno);
  if (static_cast<size_t>(found.st_size) != bytes)
    return error(ErrorKind::SharingFailed, "the peer's shared memory has {} bytes instead of {}",
                 found.st_size, bytes);
  const int seals = ::fcntl(memfd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return error(ErrorKind::SharingFailed, "the peer's shared memory is not sealed against shrinking");
  return {};
}

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

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedSegment::~SharedSegment() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Result<SharedSegment::Made> SharedSegment::make(size_t bytes) {
  rlimit limit{};  // beyond it, ftruncate() would end the process by a signal
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
    return system_error(fmt::format("sizing {} bytes of shared memory", bytes), EFBIG);
  Fd memfd(::memfd_create("rondo", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd.valid()) return system_error("memfd_create for shared memory", errno);
  if (::ftruncate(memfd.get(), static_cast<off_t>(bytes)) != 0)
    return system_error(fmt::format("sizing {} bytes of shared memory", bytes), errno);
  if (::fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return system_error("sealing shared memory", errno);
  SharedSegment segment;
  RONDO_TRY_ASSIGN(segment, map_part(memfd, bytes));
  return Made{std::move(segment), std::move(memfd)};
}

Result<SharedSegment> SharedSegment::map(const Fd& memfd, size_t bytes) {
  RONDO_TRY(check(memfd, bytes));
  return map_part(memfd, bytes);
}

Result<SharedSegment> SharedSegment::map_to_read(const Fd& memfd, size_t bytes) {
  RONDO_TRY(check(memfd, bytes));
  return map_as(memfd, bytes, PROT_READ);
}

Result<SharedSegment> SharedSegment::map_part(const Fd& memfd, size_t bytes) {
  return map_as(memfd, bytes, PROT_READ | PROT_WRITE);
}

Result<SharedSegment> SharedSegment::map_as(const Fd& memfd, size_t bytes, int protection) {
  void* base = ::mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, memfd.get(), 0);
  if (base == MAP_FAILED) return system_error(fmt::format("mapping {} bytes of shared memory", bytes), errno);
  return SharedSegment(base, bytes);
}

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
    return error(ErrorKind::SharingFailed, "passing shared memory: {} of {} bytes were sent", sent,
                 copy.size())
        .as(Code::SystemError);
  if (errno == EAGAIN) return false;
  if (errno == EPIPE || errno == ECONNRESET)
    return error(ErrorKind::SharingFailed, "the peer left before it took shared memory");
  return system_error("passing shared memory to the peer", errno);
}

Status send_descriptors(const Fd& socket, std::span<const std::byte> message,
                        std::span<const int> descriptors) {
  for (;;) {
    RONDO_TRY_ASSIGN(const bool sent, try_to_send_descriptors(socket, message, descriptors));
    if (sent) return {};
    pollfd ready{socket.get(), POLLOUT, 0};
    if (::poll(&ready, 1, kSendTimeoutMs) == 0)
      return error(ErrorKind::SharingFailed, "the peer did not take shared memory within {} ms",
                   kSendTimeoutMs)
          .as(Code::Timeout);
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
