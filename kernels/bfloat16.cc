// SPDX-License-Identifier: Apache-2.0
// Reductions of bfloat16, computed in float32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bfloat16.cc"
#include "targets.h"

#include "hwy/foreach_target.h"

#include "float_ops-inl.h"
#include "fold_kernels.h"
#include "kernels/small_float.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {
namespace {

#if RONDO_NO_VECTORS
void fold_bfloat16_kernel(const ReduceArgs& args) { reduce_reference(args); }
#else

// A 32-bit word of memory holds two elements, each the upper half of a float32, so no element has to move
// between lanes.
struct BFloat16Lanes : FloatMath<float> {
  using Accumulator = TwoHalves<V>;
  using Words = hn::RebindToUnsigned<D>;

  static HWY_INLINE size_t step_bytes() { return hn::Lanes(D()) * sizeof(float); }

  static HWY_INLINE Accumulator load(const uint8_t* p) {
    const Words du;
    const auto words = hn::LoadU(du, reinterpret_cast<const uint32_t*>(p));
    return {hn::BitCast(D(), hn::ShiftLeft<16>(words)),
            hn::BitCast(D(), hn::And(words, hn::Set(du, 0xFFFF0000U)))};
  }

  static HWY_INLINE void store(Accumulator a, uint8_t* p) {
    const Words du;
    const auto first = hn::ShiftRight<16>(rounded(a.first));
    const auto second = hn::And(rounded(a.second), hn::Set(du, 0xFFFF0000U));
    hn::StoreU(hn::Or(first, second), du, reinterpret_cast<uint32_t*>(p));
  }

  static HWY_INLINE V factor(const void* scalar) {
    BFloat16 value;
    std::memcpy(&value, scalar, sizeof(value));
    return hn::Set(D(), to_float(value));
  }

  static HWY_INLINE Accumulator scale(Accumulator a, V factor) {
    return {as_stored(hn::Mul(a.first, factor)), as_stored(hn::Mul(a.second, factor))};
  }

 private:
  static HWY_INLINE V as_stored(V v) {
    return hn::BitCast(D(), hn::And(rounded(v), hn::Set(Words(), 0xFFFF0000U)));
  }

  // The upper half of each word is the nearest bfloat16; the lower half is meaningless.
  static HWY_INLINE hn::Vec<Words> rounded(V v) {
    const Words du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
    const auto nearest = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFU)));
    const V one_nan = hn::BitCast(D(), hn::Set(du, 0x7FC00000U));
    return hn::BitCast(du, hn::IfThenElse(hn::IsNaN(v), in_register(one_nan), hn::BitCast(D(), nearest)));
  }
};

void fold_bfloat16_kernel(const ReduceArgs& args) { fold_floats<BFloat16Lanes>(args); }
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
HWY_EXPORT(fold_bfloat16_kernel);
void fold_bfloat16(const ReduceArgs& args) { HWY_DYNAMIC_DISPATCH(fold_bfloat16_kernel)(args); }
}  // namespace rondo
#endif
