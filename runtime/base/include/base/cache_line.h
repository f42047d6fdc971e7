// Cache lines that go from core to core: asked for ahead of their use, so that nobody waits for them.
#pragma once

#include <cstddef>

namespace rondo {

inline constexpr size_t kLineBytes = 64;

/// A line that is read soon. Of any address.
inline void fetch_to_read(const void* line) { __builtin_prefetch(line); }

/// A line that is written soon, and that others have. Of any address.
inline void fetch_to_write(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));  // the builtin fetches to read
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace rondo
