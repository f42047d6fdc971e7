// SPDX-License-Identifier: Apache-2.0
// LineTask: which sources and results of a FoldTask are lines (lines.h), and of which protocol. Also what
// both protocols share: access to plain memory of any alignment, 16 bytes at a time. Device code.
#pragma once

#include "fold.h"
#include "lines.h"
#include "wait.h"

namespace rondo::device {

struct LineTask {
  Protocol protocol = Protocol::LL;
  const uint64_t* source_flags = nullptr;  // by source; 0: plain memory
  const uint64_t* out_flags = nullptr;     // likewise
  uint32_t type_bytes = 1;                 // element size
  Block* block = nullptr;
  const CallHealth* health = nullptr;
};

/// gather() loads `bytes` of plain memory, zero-padded; scatter() stores them. Any alignment.
RONDO_DEVICE Pack gather(const std::byte* at, uint32_t bytes) {
  Words words{};
  for (uint32_t i = bytes; i-- > 0;) {
    words.second = words.second << 8 | words.first >> 56;
    words.first = words.first << 8 | read(reinterpret_cast<const uint8_t*>(at) + i);
  }
  return bits_as<Pack>(words);
}
RONDO_DEVICE void scatter(std::byte* at, const Pack& pack, uint32_t bytes) {
  Words words = bits_as<Words>(pack);
  for (uint32_t i = 0; i < bytes; ++i) {
    write(reinterpret_cast<uint8_t*>(at) + i, static_cast<uint8_t>(words.first));
    words.first = words.first >> 8 | words.second << 56;
    words.second >>= 8;
  }
}

RONDO_DEVICE bool is_aligned(const void* at, uint64_t bytes) { return bits_as<uint64_t>(at) % bytes == 0; }

RONDO_DEVICE Pack read_plain(const std::byte* at, uint32_t bytes) {
  if (bytes == sizeof(Pack) && is_aligned(at, sizeof(Pack))) return read(reinterpret_cast<const Pack*>(at));
  if (bytes % 8 != 0 || !is_aligned(at, 8)) return gather(at, bytes);
  const auto* words = reinterpret_cast<const uint64_t*>(at);
  return bits_as<Pack>(Words{bytes >= 8 ? read(words) : 0, bytes == 16 ? read(words + 1) : 0});
}
RONDO_DEVICE void write_plain(std::byte* at, const Pack& pack, uint32_t bytes) {
  if (bytes == sizeof(Pack) && is_aligned(at, sizeof(Pack))) return write(reinterpret_cast<Pack*>(at), pack);
  if (bytes % 8 != 0 || !is_aligned(at, 8)) return scatter(at, pack, bytes);
  auto* words = reinterpret_cast<uint64_t*>(at);
  const Words halves = bits_as<Words>(pack);
  if (bytes >= 8) write(words, halves.first);
  if (bytes == 16) write(words + 1, halves.second);
}

}  // namespace rondo::device
