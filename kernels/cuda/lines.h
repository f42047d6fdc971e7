// SPDX-License-Identifier: Apache-2.0
// Lines: how the protocols LL and LL128 lay out a message in its slot, so that each line itself shows whether
// it has arrived. Plain arithmetic, the same at both ends and on the host that allocates the slots.
//
//     opening    128 bytes: {hash, flag} {bytes, flag} in words of 8 bytes, sent before the data
//     pieces     one per chunk, each starting on a new line:
//         LL       16 bytes of data in four words {4 bytes of data, flag}: words arrive whole, in any order
//         LL128    120 bytes of data and an 8-byte flag: 128 bytes that arrive together. 16-byte elements use
//                  only 112 bytes and leave 8 unused, so that no element spans two lines
//
// A flag is derived from the message's number on its connection, so stale slot contents never match it.
// Memory is zero before the first message.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::device {

/// How a BlockProgram's connections send messages. Simple: all bytes, then the slot's header
/// (schedule/fifo_layout.h).
enum class Protocol : uint8_t { Simple, LL, LL128 };

inline constexpr uint64_t kOpeningBytes = 128;
inline constexpr uint64_t kLineBytes = 128;  // of LL128

constexpr uint64_t line_data_bytes(uint64_t type_bytes) { return type_bytes == 16 ? 112 : 120; }

/// Bytes that a piece occupies in its slot.
constexpr uint64_t piece_footprint(Protocol protocol, uint64_t bytes, uint64_t type_bytes) {
  switch (protocol) {
    case Protocol::LL: return (bytes + 15) / 16 * 32;
    case Protocol::LL128:
      return type_bytes == 16 ? (bytes + 111) / 112 * kLineBytes : (bytes + 119) / 120 * kLineBytes;
    case Protocol::Simple: break;
  }
  return bytes;
}

/// Slot size for messages of at most `bytes` in at most `chunks` chunks of equal capacity, for any type.
/// FifoLayout::stride_bytes must be at least that and a multiple of 128, and its memory 128-byte aligned.
constexpr uint64_t slot_footprint(Protocol protocol, uint64_t bytes, uint64_t chunks) {
  if (protocol == Protocol::Simple) return (bytes + 127) / 128 * 128;
  const uint64_t piece = piece_footprint(protocol, (bytes + chunks - 1) / chunks, 16);
  return kOpeningBytes + (chunks * piece + 127) / 128 * 128;
}

/// The flag of LL words and of openings in message k of a connection; never 0.
constexpr uint32_t word_flag(uint64_t k) { return static_cast<uint32_t>(1 + k % 0xFFFFFFFF); }

/// An LL word and its parts.
constexpr uint64_t flagged(uint32_t data, uint32_t flag) { return uint64_t{flag} << 32 | data; }
constexpr uint32_t flag_of(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
constexpr uint32_t data_of(uint64_t word) { return static_cast<uint32_t>(word); }

/// word_flag() wraps around. Periodically, `slots` consecutive messages fill their slots to the end, so that
/// no stale word survives long enough to match again.
constexpr bool fills_slot(uint32_t flag, uint64_t slots) { return flag % (uint32_t{1} << 30) < slots; }

}  // namespace rondo::device
