// SPDX-License-Identifier: Apache-2.0
// Passing a segment over a Unix socket.
#include <cerrno>

#include "base/error_kinds.h"
#include "shm/segment.h"

namespace rondo::shm {

Status send_segment(const Fd& socket, const Description& description, const Fd& memfd) {
  const int fd = memfd.get();
  return send_descriptors(socket, std::as_bytes(std::span(&description, 1)), {&fd, 1});
}

Result<std::optional<Received>> receive_segment(const Fd& socket) {
  Received received;
  const Description& description = received.description;
  RONDO_TRY_ASSIGN(auto arrived,
                   receive_descriptors(socket, std::as_writable_bytes(std::span(&received.description, 1))));
  if (!arrived) return std::optional<Received>();
  if (arrived->lost) return system_error("taking the descriptor of memory that the peer shares", EMFILE);
  if (arrived->bytes == 0)
    return error(ErrorKind::SharingFailed, "the peer left before it passed shared memory");
  if (arrived->bytes != sizeof description || description.magic != kMagic)
    return error(ErrorKind::SharingFailed, "the peer sent {} bytes that do not describe shared memory",
                 arrived->bytes);
  if (description.version != kVersion)
    return error(ErrorKind::SharingFailed, "the peer's shared memory has version {}; this end knows {}",
                 description.version, kVersion);
  if (arrived->attached.size() != 1)
    return error(ErrorKind::SharingFailed, "the peer described shared memory but passed none");
  received.memfd = std::move(arrived->attached.front());
  return std::optional<Received>(std::move(received));
}

}  // namespace rondo::shm
