// SPDX-License-Identifier: Apache-2.0
#include "message.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rondo {
namespace {

uint64_t load(const std::byte* from, size_t bytes) {
  uint64_t word = 0;
  std::memcpy(&word, from, bytes);
  return word;
}

/// At most 8 bytes, and zeros.
uint64_t load_up_to_8(const std::byte* from, size_t bytes) {
  if (bytes == 8) return load(from, 8);
  if (bytes >= 4) return load(from, 4) | load(from + bytes - 4, 4) << (8 * (bytes - 4));
  uint64_t word = 0;
  for (size_t i = 0; i < bytes; ++i) word |= uint64_t{std::to_integer<uint8_t>(from[i])} << (8 * i);
  return word;
}

/// `first`, `second`: `plan`, and `sequence` and `type`.
void write(Signature& to, uint64_t bytes, uint64_t first, uint64_t second, uint32_t type_bytes,
           MessageHeader::MessageKind kind, int32_t tag) {
  static_assert(std::endian::native == std::endian::little);
  static_assert(offsetof(Signature, sequence) == 16 && offsetof(Signature, type) == 20 &&
                offsetof(Signature, type_bytes) == 24 && offsetof(Signature, op) == 28 &&
                offsetof(Signature, root) == 32 && offsetof(Signature, kind) == 36);
  write_words(
      to, {bytes, first, second, uint64_t{static_cast<uint32_t>(kind)} << 32 | type_bytes,
           uint64_t{static_cast<uint8_t>(CollectiveKind::PointToPoint)} << 32 | static_cast<uint32_t>(tag)});
}

}  // namespace

MessageHeader MessageHeader::of(const Signature& signature) {
  MessageHeader header{.kind = static_cast<MessageKind>(signature.op),
                       .tag = signature.root,
                       .id = signature.plan,
                       .total_bytes = signature.count,
                       .type_bytes = signature.type_bytes};
  const auto words = std::bit_cast<SignatureWords>(signature);
  if (header.kind == MessageKind::Request) header.offer = words[2];
  if (!header.is_brief()) return header;
  header.data = std::bit_cast<Brief>(std::array{words[1], words[2]});
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

void MessageHeader::write_to(Signature& signature) const {
  write(signature, total_bytes, id, offer, type_bytes, kind, tag);
}

void MessageHeader::write_brief(Signature& signature, const SendRequest& request) {
  constexpr size_t kWord = sizeof(uint64_t);
  const size_t first = std::min(request.bytes, kWord);
  write(signature, request.bytes, load_up_to_8(request.data, first),
        load_up_to_8(request.data + first, request.bytes - first), request.type_bytes, MessageKind::Eager,
        request.tag);
}

}  // namespace rondo
