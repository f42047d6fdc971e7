// SPDX-License-Identifier: Apache-2.0
// Common to both twins of gpu/device.h: value types and conversions, which involve no shared memory.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/element.h"
#include "kernels/small_float.h"

#define RONDO_DEVICE inline
#define RONDO_DEVICE_CALLED

namespace rondo::device {

using std::isnan;

struct alignas(16) Pack {
  uint32_t words[4];
};

/// Two words, each of which is read and written as a whole.
struct alignas(16) Words {
  uint64_t first;
  uint64_t second;
};

inline constexpr uint32_t kLooksPerStop = 4;  // see gpu/device.h

/// How many threads of a block move an LL128 line together, and how many Packs each. Few threads, since the
/// twins' blocks are small.
inline constexpr uint32_t kLineLanes = 2;
inline constexpr uint32_t kLinePacks = 4;

template <class To, class From>
RONDO_DEVICE To bits_as(const From& from) {
  return std::bit_cast<To>(from);
}

template <SmallFloat T>
RONDO_DEVICE float widen(T value) {
  return to_float(value);
}
template <SmallFloat T>
RONDO_DEVICE T narrow(float value) {
  return round_to<T>(value);
}

}  // namespace rondo::device
