// SPDX-License-Identifier: Apache-2.0
// A point-to-point message: the sender's request, the receiver's request, and the header, which travels in
// place of a collective's Signature. Plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/signature.h"
#include "health/pending.h"

namespace rondo {

struct SendRequest {
  const std::byte* data = nullptr;
  size_t bytes = 0;
  uint32_t type_bytes = 1;
  int peer = 0;
  int tag = 0;
  size_t ready = SIZE_MAX;  // bytes that may be sent now; only grows
  // Maintained by the engine.
  uint64_t id = 0;  // 0: not started
  size_t sent = 0;
  bool eager = false;
  bool granted = false;
  bool done = false;
};

struct RecvRequest {
  std::byte* data = nullptr;
  size_t capacity = 0;  // bytes
  uint32_t type_bytes = 1;
  int peer = 0;        // or kAny
  int tag = 0;         // or kAny
  bool exact = false;  // a shorter message is an error
  // Maintained by the engine; `source`, `got_tag` and `bytes` describe the received message.
  int source = kAny;
  int got_tag = kAny;
  size_t bytes = 0;
  uint64_t id = 0;
  size_t arrived = 0;
  bool done = false;
};

struct MessageHeader {
  enum class MessageKind : uint32_t { Eager, Request, Grant, Data };

  MessageKind kind = MessageKind::Eager;
  int32_t tag = 0;
  uint64_t id = 0;  // 0 if Eager
  uint64_t total_bytes = 0;
  uint32_t type_bytes = 1;
  std::array<std::byte, 16> brief{};  // inline data of an Eager that fits, which leaves the slot empty

  bool is_brief() const { return kind == MessageKind::Eager && total_bytes <= sizeof brief; }
  static MessageHeader of(const Signature& signature);
  static MessageHeader of(MessageKind kind, const SendRequest& request);
  Signature signature() const;
};

}  // namespace rondo
