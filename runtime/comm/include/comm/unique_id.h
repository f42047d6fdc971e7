// UniqueId: what rondo_unique_id_t holds: where the root of a start listens, and the session's secret. Plain
// data.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/handshake.h"
#include "comm/socket.h"

namespace rondo {

struct UniqueId {
  static constexpr size_t kBytes = 128;
  static constexpr size_t kMostAddresses = 3;

  Credentials credentials;
  uint64_t process = 0;  // of the root; its Unix name follows from it
  uint16_t tcp_port = 0;
  std::vector<IpAddress> addresses;

  void write(std::span<std::byte, kBytes> out) const;
  /// InvalidArgument where the bytes are no unique id, or one of another version.
  static Result<UniqueId> read(std::span<const std::byte, kBytes> in);
};

}  // namespace rondo
