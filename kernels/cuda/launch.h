// What the host hands to a kernel: plain data, copied at the launch.
#pragma once

#include <cstdint>

namespace rondo::device {

inline constexpr int kMostSources = 64;

struct FoldLaunch {
  const void* sources[kMostSources];
  void* out;
  int nsources;
  int divisor;
  int scaled_source;
  uint8_t type;  // ElementType
  uint8_t op;    // Reduction
  uint64_t count;
  alignas(16) unsigned char scalar[16];
};

/// fold() by a grid that fills the current device. A cudaError_t; `stream` is a cudaStream_t.
int launch_fold(const FoldLaunch& launch, void* stream);

}  // namespace rondo::device
