// Lines: how the protocols LL and LL128 lay a message out in its slot, so that whoever looks at a line sees
// whether it has come. Plain arithmetic, the same at both ends and on the host that makes the slots.
//
//     opening    128 bytes: {hash, flag} {bytes, flag} in words of 8 bytes, sent before the data
//     pieces     one a chunk, each from a line on:
//         LL       16 bytes of data in four words {4 bytes of data, flag}: words arrive whole, in any order
//         LL128    120 bytes of data and a flag of 8: 128 bytes that arrive together. 112 and 8 bytes that
//                  nobody reads where elements have 16, so that none lies in two lines
//
// A flag is made from the number of the message on its connection, so what lay in the slot before never has
// it. Memory is zero before the first message.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::device {

/// How the messages of a Program's connections are sent. Simple: all bytes, then the slot's header
/// (schedule/fifo_layout.h).
enum class Protocol : uint8_t { Simple, LL, LL128 };

inline constexpr uint64_t kOpeningBytes = 128;
inline constexpr uint64_t kLineBytes = 128;  // of LL128

constexpr uint64_t line_data_bytes(uint64_t type_bytes) { return type_bytes == 16 ? 112 : 120; }

/// What a piece takes in its slot.
constexpr uint64_t piece_footprint(Protocol protocol, uint64_t bytes, uint64_t type_bytes) {
  switch (protocol) {
    case Protocol::LL: return (bytes + 15) / 16 * 32;
    case Protocol::LL128:
      return type_bytes == 16 ? (bytes + 111) / 112 * kLineBytes : (bytes + 119) / 120 * kLineBytes;
    case Protocol::Simple: break;
  }
  return bytes;
}

/// What a slot takes for messages of at most `bytes` in at most `chunks` chunks of equal room, whatever their
/// type: FifoLayout::stride_bytes is at least that, a multiple of 128, and its memory lies on such a one.
constexpr uint64_t slot_footprint(Protocol protocol, uint64_t bytes, uint64_t chunks) {
  if (protocol == Protocol::Simple) return (bytes + 127) / 128 * 128;
  const uint64_t piece = piece_footprint(protocol, (bytes + chunks - 1) / chunks, 16);
  return kOpeningBytes + (chunks * piece + 127) / 128 * 128;
}

/// The flag of LL's words, and of openings, in message k of a connection: never 0.
constexpr uint32_t word_flag(uint64_t k) { return static_cast<uint32_t>(1 + k % 0xFFFFFFFF); }

/// A word of LL, and its parts.
constexpr uint64_t flagged(uint32_t data, uint32_t flag) { return uint64_t{flag} << 32 | data; }
constexpr uint32_t flag_of(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
constexpr uint32_t data_of(uint64_t word) { return static_cast<uint32_t>(word); }

/// word_flag() comes round again. Now and then as many messages in a row as there are slots fill theirs up to
/// the end, so that no word is as old as that.
constexpr bool fills_slot(uint32_t flag, uint64_t slots) { return flag % (uint32_t{1} << 30) < slots; }

}  // namespace rondo::device
