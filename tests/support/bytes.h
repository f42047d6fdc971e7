// SPDX-License-Identifier: Apache-2.0
// Comparisons of memory by the C library: ThreadSanitizer looks at each access of a loop, but at all that
// memcmp() reads at once.
#pragma once

#include <cstddef>
#include <cstring>

namespace rondo::test {

inline bool same_bytes(const void* a, const void* b, size_t bytes) {
  return bytes == 0 || std::memcmp(a, b, bytes) == 0;
}

inline bool all_bytes_are(std::byte value, const std::byte* data, size_t bytes) {
  return bytes == 0 || (*data == value && same_bytes(data, data + 1, bytes - 1));
}

}  // namespace rondo::test
