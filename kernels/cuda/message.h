// SPDX-License-Identifier: Apache-2.0
// DeviceMessage: what both ends of a connection know about a message in advance; if they differ, the ends are
// making different calls. Plain data and arithmetic.
#pragma once

#include <cstdint>

#include "base/signature.h"

namespace rondo::device {

constexpr uint64_t mix(uint64_t hash, uint64_t word) {
  const uint64_t product = (hash ^ word) * 0x9E3779B97F4A7C15;
  return product ^ product >> 32;
}

/// Hash of everything that is the same in all messages of a call.
constexpr uint64_t call_hash(const Signature& call) {
  uint64_t hash = mix(call.plan, call.sequence);
  hash = mix(hash, uint64_t{call.type} << 32 | call.type_bytes);
  hash = mix(hash, uint64_t{call.op} << 32 | static_cast<uint32_t>(call.root));
  return mix(hash, uint64_t{static_cast<uint8_t>(call.kind)} << 8 | call.varying);
}

/// Hash in the opening of a message without a header. `count` is the Signature's.
constexpr uint32_t message_hash(uint64_t of_call, uint64_t count, uint64_t bytes) {
  return static_cast<uint32_t>(mix(mix(of_call, count), bytes));
}

struct DeviceMessage {
  Signature signature;
  uint64_t bytes = 0;
  uint32_t hash = 0;
};

}  // namespace rondo::device
