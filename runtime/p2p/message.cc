// SPDX-License-Identifier: Apache-2.0
#include "message.h"

#include <cstring>

namespace rondo {

MessageHeader MessageHeader::of(const Signature& signature) {
  MessageHeader header{.kind = static_cast<MessageKind>(signature.op),
                       .tag = signature.root,
                       .id = signature.plan,
                       .total_bytes = signature.count,
                       .type_bytes = signature.type_bytes};
  if (header.kind == MessageKind::Request) header.offer = uint64_t{signature.sequence} << 32 | signature.type;
  if (!header.is_brief()) return header;
  std::byte* brief = header.data.data();
  std::memcpy(brief, &signature.plan, sizeof signature.plan);
  std::memcpy(brief += sizeof signature.plan, &signature.sequence, sizeof signature.sequence);
  std::memcpy(brief += sizeof signature.sequence, &signature.type, sizeof signature.type);
  header.id = 0;
  return header;
}

MessageHeader MessageHeader::of(MessageKind kind, const SendRequest& request) {
  return {.kind = kind,
          .tag = request.tag,
          .id = kind == MessageKind::Eager ? 0 : request.id,
          .total_bytes = request.bytes,
          .type_bytes = request.type_bytes};
}

Signature MessageHeader::signature() const {
  return {.count = total_bytes,
          .plan = id,
          .sequence = static_cast<uint32_t>(offer >> 32),
          .type = static_cast<uint32_t>(offer),
          .type_bytes = type_bytes,
          .op = static_cast<uint32_t>(kind),
          .root = tag,
          .kind = CollectiveKind::PointToPoint};
}

Signature MessageHeader::brief(const SendRequest& request) {
  Brief padded{};
  if (request.bytes != 0) std::memcpy(padded.data(), request.data, request.bytes);
  Signature signature{.count = request.bytes,
                      .type_bytes = request.type_bytes,
                      .op = static_cast<uint32_t>(MessageKind::Eager),
                      .root = request.tag,
                      .kind = CollectiveKind::PointToPoint};
  const std::byte* from = padded.data();
  std::memcpy(&signature.plan, from, sizeof signature.plan);
  std::memcpy(&signature.sequence, from += sizeof signature.plan, sizeof signature.sequence);
  std::memcpy(&signature.type, from += sizeof signature.sequence, sizeof signature.type);
  return signature;
}

}  // namespace rondo
