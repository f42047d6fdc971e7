// SPDX-License-Identifier: Apache-2.0
// The byte values of unwritten memory and of the guards around a buffer. Pure functions: any thread.
#pragma once

#include <algorithm>
#include <cstddef>

namespace rondo::perf {

inline constexpr std::byte kPoison{0xA5};
inline constexpr std::byte kGuardByte{0x5C};
inline constexpr size_t kGuard = 512;  // bytes on each side; longer than any vector register or cache line

inline bool holds_only(const std::byte* at, size_t bytes, std::byte value) {
  return std::all_of(at, at + bytes, [value](std::byte byte) { return byte == value; });
}

/// Returns how many elements no longer hold the poison.
inline size_t count_touched(const std::byte* at, size_t elements, size_t element_bytes) {
  size_t touched = 0;
  for (size_t i = 0; i < elements; ++i)
    touched += holds_only(at + i * element_bytes, element_bytes, kPoison) ? 0 : 1;
  return touched;
}

}  // namespace rondo::perf
