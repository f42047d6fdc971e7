// SPDX-License-Identifier: Apache-2.0
// MessageHeader: what travels with a point-to-point message, in place of a collective's Signature; and the
// messages that wait for a receive. Plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/signature.h"
#include "p2p/point_to_point.h"

namespace rondo {

struct MessageHeader {
  enum class MessageKind : uint32_t { Eager, Request, Grant, Data, Taken };
  using Brief = std::array<std::byte, 16>;

  MessageKind kind = MessageKind::Eager;
  int32_t tag = 0;
  uint64_t id = 0;  // 0 if Eager
  uint64_t total_bytes = 0;
  uint32_t type_bytes = 1;
  uint64_t offer = 0;  // of a Request; see ZeroCopy::offer()
  Brief data{};        // of one that is_brief() and has arrived

  /// Whether the signature of an Eager of this length carries its data, which leaves the slot empty.
  static bool is_brief(size_t bytes) { return bytes <= sizeof(Brief); }
  bool is_brief() const { return kind == MessageKind::Eager && is_brief(total_bytes); }
  static MessageHeader of(const Signature& signature);
  static MessageHeader of(MessageKind kind, const SendRequest& request);
  void write_to(Signature& signature) const;
  Signature signature() const {
    Signature signature;
    write_to(signature);
    return signature;
  }
  /// The signature of a brief message.
  static void write_brief(Signature& signature, const SendRequest& request);
};

/// Arrived or announced, not yet received.
struct PointToPoint::Message {
  int source;
  MessageHeader header;
  std::vector<std::byte> data;  // Eager
  uint64_t number = 0;          // see RecvRequest
};

}  // namespace rondo
