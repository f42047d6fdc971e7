// SPDX-License-Identifier: Apache-2.0
// Vectors of integers. Included once for each Highway target.
#if defined(RONDO_KERNELS_INTEGER_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_INTEGER_LANES_INL_H_
#undef RONDO_KERNELS_INTEGER_LANES_INL_H_
#else
#define RONDO_KERNELS_INTEGER_LANES_INL_H_
#endif

#include "fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {

/// The low half of the product, as for wrapping integers.
template <class V>
HWY_INLINE V wrapping_product(V a, V b) {
  const hn::DFromV<V> d;
  if constexpr (sizeof(hn::TFromD<decltype(d)>) > 1) {
    return hn::Mul(a, b);
  } else {
    // Bytes are multiplied in pairs: even ones as their 16-bit word, odd ones from the word's upper half.
    const hn::RepartitionToWide<decltype(d)> dw;
    const auto wide_a = hn::BitCast(dw, a), wide_b = hn::BitCast(dw, b);
    const auto upper = hn::Set(dw, 0xFF00);
    const auto even = hn::AndNot(upper, hn::Mul(wide_a, wide_b));
    const auto odd = hn::Mul(hn::ShiftRight<8>(wide_a), hn::And(wide_b, upper));
    return hn::BitCast(d, hn::Or(even, odd));
  }
}

template <class T, class Tag = hn::ScalableTag<T>>
struct IntegerLanes {
  using D = Tag;
  using V = hn::Vec<D>;
  using Accumulator = V;
  static constexpr size_t kElementBytes = sizeof(T);
  template <size_t kBytes>
  using Short = IntegerLanes<T, hn::FixedTag<T, kBytes / sizeof(T)>>;
  using Factor = V;
  struct Divisor {};  // unused: divide_integers() divides instead

  static HWY_INLINE size_t step_bytes() { return hn::Lanes(D()) * sizeof(T); }
  static HWY_INLINE V load(const uint8_t* p) { return hn::LoadU(D(), reinterpret_cast<const T*>(p)); }
  static HWY_INLINE void store(V v, uint8_t* p) { hn::StoreU(v, D(), reinterpret_cast<T*>(p)); }
  static HWY_INLINE V factor(const void* scalar) {
    T value;
    std::memcpy(&value, scalar, sizeof(T));
    return hn::Set(D(), value);
  }
  static HWY_INLINE V scale(V v, V factor) { return wrapping_product(v, factor); }
  static HWY_INLINE Divisor divisor(int) { return {}; }
  static HWY_INLINE V divide(V v, Divisor) { return v; }
};

}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#endif
