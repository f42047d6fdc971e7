// SPDX-License-Identifier: Apache-2.0
// UniqueId: the content of rondo_unique_id_t: the bootstrap root's addresses and the session's secret. Plain
// data.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "net/handshake.h"
#include "net/socket.h"

namespace rondo {

struct UniqueId {
  static constexpr size_t kBytes = 128;
  static constexpr size_t kMaxAddresses = 3;

  Credentials credentials;
  uint64_t process = 0;  // of the root; its Unix name is derived from it
  uint16_t tcp_port = 0;
  std::vector<IpAddress> addresses;

  void write(std::span<std::byte, kBytes> out) const;
  /// InvalidArgument if the bytes are no unique id, or one of another version.
  static Result<UniqueId> read(std::span<const std::byte, kBytes> in);
};

}  // namespace rondo
