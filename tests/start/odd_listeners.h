// SPDX-License-Identifier: Apache-2.0
// Listeners on the loopback interface that do not do what Rondo's do.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "catch.h"
#include "net/socket.h"

namespace rondo::test {

inline Address loopback(uint16_t port) { return Address::tcp(kLoopback, port); }

inline uint16_t port_of(const Fd& fd) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  REQUIRE(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
  return ntohs(address.sin_port);
}

/// A listener that never accepts and whose backlog is full, so that the kernel drops further requests.
class Silent {
 public:
  Silent() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    Address any = loopback(0);
    REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&any.storage), any.length) == 0);
    REQUIRE(::listen(listener_.get(), 0) == 0);
    for (Fd& one : filling_) {
      one = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      const Address to = address();
      static_cast<void>(::connect(one.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.length));
    }
  }
  Address address() const { return loopback(port_of(listener_)); }

 private:
  Fd listener_;
  std::array<Fd, 4> filling_;
};

/// A listener that closes each connection without a word, as one without descriptors may.
class HangingUp {
 public:
  HangingUp() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const Address any = loopback(0);
    REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&any.storage), any.length) == 0);
    REQUIRE(::listen(listener_.get(), 4) == 0);
    thread_ = std::thread([this] {
      while (Fd(::accept(listener_.get(), nullptr, nullptr)).valid()) continue;
    });
  }
  ~HangingUp() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  Address address() const { return loopback(port_of(listener_)); }

 private:
  Fd listener_;
  std::thread thread_;
};

/// A port on which no process listens.
inline Address refusing() {
  const Fd unused(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Address any = loopback(0);
  REQUIRE(::bind(unused.get(), reinterpret_cast<const sockaddr*>(&any.storage), any.length) == 0);
  return loopback(port_of(unused));
}

}  // namespace rondo::test
