// SPDX-License-Identifier: Apache-2.0
#include "fake_link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>

#include "catch.h"

namespace rondo::test {
namespace {

std::pair<Fd, Fd> loopback_tcp() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* where = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(listener.get(), where, length) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), where, &length) == 0);
  Fd dialled(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(dialled.get(), where, length) == 0);
  Fd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  REQUIRE(accepted.valid());
  REQUIRE(::fcntl(dialled.get(), F_SETFL, O_NONBLOCK) == 0);
  return {std::move(dialled), std::move(accepted)};
}

std::pair<Fd, Fd> unix_pair() {
  int fds[2] = {-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
  return {Fd(fds[0]), Fd(fds[1])};
}

}  // namespace

std::pair<Fd, Fd> connected_sockets(Route route) {
  return route == Route::Unix ? unix_pair() : loopback_tcp();
}

void Wire::put(int index, Fd socket) {
  const std::lock_guard lock(mutex_);
  arriving_[index] = std::move(socket);
}

Fd Wire::take(int index) {
  const std::lock_guard lock(mutex_);
  const auto found = arriving_.find(index);
  if (held_ || found == arriving_.end()) return {};
  Fd socket = std::move(found->second);
  arriving_.erase(found);
  return socket;
}

void Wire::prepare(Route route, int sockets) {
  for (int index = 0; index < sockets; ++index) {
    auto [own, peers] = connected_sockets(route);
    put(index, std::move(peers));
    prepared_[index] = std::move(own);
  }
}

Fd Wire::take_prepared(int index) {
  const auto found = prepared_.find(index);
  return found == prepared_.end() ? Fd() : std::move(found->second);
}

void Wire::hold(bool held) {
  const std::lock_guard lock(mutex_);
  held_ = held;
}

ConnectionKey new_key(int dialler, int acceptor) {
  static std::atomic<uint64_t> next = 1;
  return {.session = next++, .communicator = 0, .port = 0, .dialler = dialler, .acceptor = acceptor};
}

Result<Fd> FakeLink::dial(Route route, int index) {
  if (!dials_) return error(Code::InternalError, "the acceptor dialled");
  if (Fd prepared = wire_->take_prepared(index); prepared.valid()) return prepared;
  auto [own, peers] = connected_sockets(route);
  wire_->put(index, std::move(peers));
  return std::move(own);
}

}  // namespace rondo::test
