// SPDX-License-Identifier: Apache-2.0
// Arithmetic on vectors of float32 and float64. Included once for each Highway target.
#if defined(RONDO_KERNELS_FLOAT_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_FLOAT_OPS_INL_H_
#undef RONDO_KERNELS_FLOAT_OPS_INL_H_
#else
#define RONDO_KERNELS_FLOAT_OPS_INL_H_
#endif

#include <limits>

#include "fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {

struct FloatAdd {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};

struct FloatMultiply {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Mul(a, b);
  }
};

// min and max are spelled out because CPUs differ in their treatment of NaN and of signed zeros. If b is NaN,
// the comparison fails and selects b; if a is NaN, the last step restores a.
struct Minimum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    const V smaller = hn::IfThenElse(hn::Lt(a, b), a, b);
    const V ordered = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), smaller);  // -0 | +0 is -0
    return hn::IfThenElse(hn::IsNaN(a), a, ordered);
  }
};

struct Maximum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    const V larger = hn::IfThenElse(hn::Lt(b, a), a, b);
    const V ordered = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), larger);  // -0 & +0 is +0
    return hn::IfThenElse(hn::IsNaN(a), a, ordered);
  }
};

/// A constant that g++ keeps in a register. It would load one that is used once under the mask of that use,
/// and on Zen 4 a load under a mask without elements holds up all later loads (reduce of 8 to 32 B over shm,
/// 2 ranks: 0.22 instead of 0.08 us, EPYC, 2026-11).
template <class V>
HWY_INLINE V in_register(V constant) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  asm("" : : "v"(constant.raw));
#endif
  return constant;
}

/// Replaces every NaN by one NaN, since CPUs differ in which operand's NaN an instruction propagates.
template <class V>
HWY_INLINE V with_one_nan(V v) {
  const hn::DFromV<V> d;
  const V nan = hn::Set(d, std::numeric_limits<hn::TFromD<decltype(d)>>::quiet_NaN());
  return hn::IfThenElse(hn::IsNaN(v), in_register(nan), v);
}

/// Runs the call's operation on floats in the layout of Lanes.
template <class Lanes>
HWY_INLINE void fold_floats(const ReduceArgs& args) {
  switch (args.op) {
    case Reduction::Prod: return fold<Lanes, FloatMultiply>(args);
    case Reduction::Min: return fold<Lanes, Minimum>(args);
    case Reduction::Max: return fold<Lanes, Maximum>(args);
    default: return fold_extended<Lanes, FloatAdd>(args);
  }
}

/// Scaling and division for Lanes that compute in vectors of T, whatever their memory layout. fold-inl.h
/// finds them through Lanes.
template <class T, class Tag = hn::ScalableTag<T>>
struct FloatMath {
  using D = Tag;
  using V = hn::Vec<D>;
  using Factor = V;
  using Divisor = V;

  static HWY_INLINE Divisor divisor(int number) { return hn::Set(D(), static_cast<T>(number)); }
  static HWY_INLINE V scale(V a, V factor) { return hn::Mul(a, factor); }
  static HWY_INLINE V divide(V a, V by) { return hn::Div(a, by); }
  template <class A>
  static HWY_INLINE TwoHalves<A> scale(TwoHalves<A> a, V factor) {
    return {scale(a.first, factor), scale(a.second, factor)};
  }
  template <class A>
  static HWY_INLINE TwoHalves<A> divide(TwoHalves<A> a, V by) {
    return {divide(a.first, by), divide(a.second, by)};
  }
};

/// float32 and float64, which need no conversion.
template <class T, class Tag = hn::ScalableTag<T>>
struct FloatLanes : FloatMath<T, Tag> {
  using typename FloatMath<T, Tag>::D;
  using typename FloatMath<T, Tag>::V;
  using Accumulator = V;
  static constexpr size_t kElementBytes = sizeof(T);
  template <size_t kBytes>
  using Short = FloatLanes<T, hn::FixedTag<T, kBytes / sizeof(T)>>;

  static HWY_INLINE size_t step_bytes() { return hn::Lanes(D()) * sizeof(T); }
  // As integers: Highway takes an address of one float or double for an aligned one.
  using DU = hn::RebindToUnsigned<D>;
  using TU = hn::TFromD<DU>;
  static HWY_INLINE V load(const uint8_t* p) {
    return hn::BitCast(D(), hn::LoadU(DU(), reinterpret_cast<const TU*>(p)));
  }
  static HWY_INLINE void store(V v, uint8_t* p) {
    hn::StoreU(hn::BitCast(DU(), with_one_nan(v)), DU(), reinterpret_cast<TU*>(p));
  }
  static HWY_INLINE V factor(const void* scalar) {
    T value;
    std::memcpy(&value, scalar, sizeof(T));
    return hn::Set(D(), value);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#endif
