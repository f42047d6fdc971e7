// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

namespace rondo::test {

inline bool can_listen_on(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool can = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return can;
}

/// A TCP port on which no process listens, below the system's range for outgoing connections, so that none of
/// these takes it before the test does.
inline int free_port() {
  std::random_device random;
  for (int attempt = 0; attempt < 100; ++attempt)
    if (const int port = 20'000 + static_cast<int>(random() % 12'000); can_listen_on(port)) return port;
  throw std::runtime_error("no TCP port is free");
}

}  // namespace rondo::test
