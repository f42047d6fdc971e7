// SPDX-License-Identifier: Apache-2.0
// Control over when cache lines move between cores: a transfer takes longer than a short call's instructions.
#pragma once

#include <cstddef>

namespace rondo {

inline constexpr size_t kLineBytes = 64;

/// Prefetches a line that will soon be read. Any address is valid.
inline void fetch_to_read(const void* line) { __builtin_prefetch(line); }

/// Prefetches a line that will soon be written and that other cores hold. Any address is valid.
inline void fetch_to_write(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0"
               :
               : "m"(*static_cast<const char*>(line)));  // the builtin would prefetch for reading
#else
  __builtin_prefetch(line, 1);
#endif
}

/// Delays later loads until all earlier instructions have finished, if the processor has such an instruction.
inline void delay_loads() {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
#endif
}

}  // namespace rondo
