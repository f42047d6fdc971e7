// A message between users: what its sender and its receiver ask for, and what its sender says of it. The
// header rides where a collective has its Signature. Plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/signature.h"

namespace rondo {

inline constexpr int kAny = -1;  // source or tag

struct SendRequest {
  const std::byte* data = nullptr;
  size_t bytes = 0;
  uint32_t type_bytes = 1;
  int peer = 0;
  int tag = 0;
  size_t ready = SIZE_MAX;  // bytes that may be sent already; only grows
  // Kept by the engine.
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
  // Kept by the engine; `source`, `got_tag` and `bytes` are the receipt.
  int source = kAny;
  int got_tag = kAny;
  size_t bytes = 0;
  uint64_t id = 0;
  size_t arrived = 0;
  bool done = false;
};

struct MessageHeader {
  enum class Kind : uint32_t { Eager, Request, Grant, Data };

  Kind kind = Kind::Eager;
  int32_t tag = 0;
  uint64_t id = 0;  // 0: of an Eager
  uint64_t total_bytes = 0;
  uint32_t type_bytes = 1;
  std::array<std::byte, 16> brief{};  // an Eager that short needs nothing of the slot

  bool is_brief() const { return kind == Kind::Eager && total_bytes <= sizeof brief; }
  static MessageHeader of(const Signature& signature);
  static MessageHeader of(Kind kind, const SendRequest& request);
  Signature signature() const;
};

}  // namespace rondo
