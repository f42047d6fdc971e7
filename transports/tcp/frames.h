// SPDX-License-Identifier: Apache-2.0
// Wire format of a tcp connection: in each direction of each socket one StreamHello, then messages, each a
// Frame followed by its bytes. Message k travels on socket k % sockets. Plain data, little-endian.
#pragma once

#include <bit>
#include <cerrno>
#include <cstdint>
#include <string>

#include "base/error_kinds.h"
#include "base/signature.h"
#include "base/status.h"
#include "common/params.h"

namespace rondo::tcp {

static_assert(std::endian::native == std::endian::little);

struct StreamHello {
  static constexpr uint32_t kMagic = 0x70637452;  // "Rtcp"
  static constexpr uint32_t kVersion = 1;

  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  uint64_t slot_bytes = 0;
  uint32_t slots = 0;
  uint32_t sockets = 0;
  uint32_t index = 0;  // of this socket
  uint32_t reserved = 0;
};
static_assert(sizeof(StreamHello) == 32);

struct Frame {
  static constexpr uint32_t kMagic = 0x6d637452;  // "Rtcm"

  uint32_t magic = kMagic;
  uint32_t reserved = 0;
  uint64_t bytes = 0;     // payload size
  uint64_t sequence = 0;  // number of the message, from 0
  Signature signature;
};
static_assert(sizeof(Frame) == 64);

/// The agreed parameters, and the peer's rank for error messages.
struct Terms {
  AgreedParams params;
  int peer = -1;
};

/// The error of a failed socket call, with errno's message.
inline Status broken(const Terms& terms, const char* doing, int error_number) {
  const Status words =
      system_error(fmt::format("{} rank {}", doing, terms.peer), error_number, ErrorKind::ConnectionBroken);
  if (error_number == EFAULT)  // the connection's own memory is always there
    return error(ErrorKind::MemoryFreed, "{}: a buffer of this rank's call is not in its memory",
                 words.message());
  return words.as(Code::RemoteError);
}

}  // namespace rondo::tcp
