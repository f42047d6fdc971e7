// SPDX-License-Identifier: Apache-2.0
#include "comm.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rondo::test_net {
namespace {

/// Moves bytes of a request by `move_some`, until nothing more goes.
template <class MoveSome>
int move_bytes(Request& request, size_t until, MoveSome&& move_some) {
  while (request.moved < until) {
    const ssize_t moved = move_some(request.wire.data() + request.moved, until - request.moved);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return kSuccess;
    if (moved <= 0) return kRemoteError;
    request.moved += static_cast<size_t>(moved);
  }
  return kSuccess;
}

/// The bytes are taken as late as is allowed.
int send(Request& request, int socket) {
  if (request.wire.empty()) {
    const uint64_t length = request.bytes;
    request.wire.resize(sizeof length + request.bytes);
    std::memcpy(request.wire.data(), &length, sizeof length);
    std::memcpy(request.wire.data() + sizeof length, request.data, request.bytes);
  }
  const int result = move_bytes(request, request.wire.size(), [&](const std::byte* from, size_t bytes) {
    return ::send(socket, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  });
  request.has_moved = request.moved == request.wire.size();
  return result;
}

/// The bytes are put into place when the request is reported, and not before.
int receive(Request& request, int socket) {
  const auto read = [&](std::byte* to, size_t bytes) { return ::recv(socket, to, bytes, MSG_DONTWAIT); };
  uint64_t length = 0;
  if (request.wire.size() < sizeof length) request.wire.resize(sizeof length);
  if (const int result = move_bytes(request, sizeof length, read); result != kSuccess) return result;
  if (request.moved < sizeof length) return kSuccess;
  std::memcpy(&length, request.wire.data(), sizeof length);
  if (length > request.bytes) return kInternalError;  // more than the receive has room for
  request.wire.resize(sizeof length + length);
  const int result = move_bytes(request, request.wire.size(), read);
  request.has_moved = request.moved == request.wire.size();
  return result;
}

}  // namespace

Comm::~Comm() { ::close(socket); }

void Comm::check_region(const void* region, const std::byte* data, size_t bytes) const {
  const auto found =
      std::find_if(regions.begin(), regions.end(), [&](const auto& known) { return known.get() == region; });
  expect(found != regions.end(), "a region that is not registered with the comm");
  const std::byte* const begin = (*found)->data;
  expect(data >= begin && data + bytes <= begin + (*found)->bytes, "bytes outside the registered region");
}

int Comm::move(Faults& faults) {
  for (const auto& request : requests) {
    if (request->has_moved) continue;
    if (request->tests_before != 0 && request->tests_before-- != 0) return kSuccess;
    const int result = kind == Kind::Send ? send(*request, socket) : receive(*request, socket);
    if (result != kSuccess || !request->has_moved) return result;
    request->tests_after = faults.draw(4);
  }
  return kSuccess;
}

}  // namespace rondo::test_net
