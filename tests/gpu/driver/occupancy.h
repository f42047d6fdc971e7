// SPDX-License-Identifier: Apache-2.0
// How many blocks of a launch fit a multiprocessor.
#pragma once

#include <algorithm>
#include <cstddef>

namespace rondo::standin {

inline constexpr int kMaxBlockThreads = 1024;
inline constexpr int kProcessorThreads = 2048;
inline constexpr int kProcessorBlocks = 32;
inline constexpr int kProcessorRegisters = 65536;
inline constexpr int kThreadRegisters = 128;  // limit that kernels are compiled for
inline constexpr int kSharedBytes = 48 << 10;
inline constexpr int kMaxSharedBytes = 227 << 10;  // per block
inline constexpr int kProcessorSharedBytes = 228 << 10;
inline constexpr int kReservedSharedBytes = 1 << 10;  // per block

/// Number of a kernel's blocks that run on a multiprocessor at the same time.
inline int blocks_on_processor(int threads, size_t shared_bytes) {
  if (threads <= 0 || shared_bytes > kMaxSharedBytes) return 0;
  const int rounded = (threads + 31) / 32 * 32;
  const int by_shared = static_cast<int>(kProcessorSharedBytes / (shared_bytes + kReservedSharedBytes));
  return std::min({kProcessorBlocks, kProcessorThreads / rounded,
                   kProcessorRegisters / (kThreadRegisters * rounded), by_shared});
}

}  // namespace rondo::standin
