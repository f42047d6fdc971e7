// SPDX-License-Identifier: Apache-2.0
// Copies by non-temporal stores of vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stream_copy.cc"
#include "targets.h"

#include "hwy/foreach_target.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/stream_copy.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {
namespace {

#if RONDO_NO_VECTORS
void stream_copy_kernel(uint8_t* to, const uint8_t* from, size_t bytes) { std::memcpy(to, from, bytes); }
#else
namespace hn = hwy::HWY_NAMESPACE;

/// The destination is written in whole cache lines, so that no partial line has to be fetched.
constexpr size_t kLine = 64;

void stream_copy_kernel(uint8_t* to, const uint8_t* from, size_t bytes) {
  const hn::CappedTag<uint8_t, kLine> d;
  const size_t step = hn::Lanes(d);
  const size_t before = std::min(bytes, (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine);
  std::memcpy(to, from, before);
  size_t at = before;
  for (; bytes - at >= kLine; at += kLine)
    for (size_t i = 0; i < kLine; i += step) hn::Stream(hn::LoadU(d, from + at + i), d, to + at + i);
  std::memcpy(to + at, from + at, bytes - at);
  hwy::FlushStream();
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
HWY_EXPORT(stream_copy_kernel);
void stream_copy(std::byte* to, const std::byte* from, size_t bytes) {
  HWY_DYNAMIC_DISPATCH(stream_copy_kernel)
  (reinterpret_cast<uint8_t*>(to), reinterpret_cast<const uint8_t*>(from), bytes);
}
}  // namespace rondo
#endif
