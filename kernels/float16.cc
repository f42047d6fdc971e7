// SPDX-License-Identifier: Apache-2.0
// Reductions of float16, computed in float32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "float16.cc"
#include "targets.h"

#include "hwy/foreach_target.h"

#include "fold_kernels.h"
#include "small_float_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {
namespace {

#if RONDO_NO_VECTORS
void fold_float16_kernel(const ReduceArgs& args) { reduce_reference(args); }
#else

// AVX2 and AArch64 have conversion instructions.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
struct Float16Lanes : FloatMath<float> {
  using Accumulator = V;
  using Codes = hn::Rebind<uint16_t, D>;
  using Halves = hn::Rebind<hwy::float16_t, D>;

  static HWY_INLINE size_t step_bytes() { return hn::Lanes(D()) * sizeof(Float16); }
  static HWY_INLINE V load(const uint8_t* p) {
    const auto codes = hn::LoadU(Codes(), reinterpret_cast<const uint16_t*>(p));
    return hn::PromoteTo(D(), hn::BitCast(Halves(), codes));
  }
  static HWY_INLINE void store(V v, uint8_t* p) {
    hn::StoreU(hn::BitCast(Codes(), halves(v)), Codes(), reinterpret_cast<uint16_t*>(p));
  }
  static HWY_INLINE V scale(V a, V factor) { return hn::PromoteTo(D(), halves(hn::Mul(a, factor))); }
  static HWY_INLINE V factor(const void* scalar) {
    Float16 value;
    std::memcpy(&value, scalar, sizeof(value));
    return hn::Set(D(), to_float(value));
  }

 private:
  static HWY_INLINE hn::Vec<Halves> halves(V v) { return hn::DemoteTo(Halves(), with_one_nan(v)); }
};
#else
using Float16Lanes = SmallFloatLanes<Float16>;
#endif

void fold_float16_kernel(const ReduceArgs& args) { fold_floats<Float16Lanes>(args); }
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
HWY_EXPORT(fold_float16_kernel);
void fold_float16(const ReduceArgs& args) { HWY_DYNAMIC_DISPATCH(fold_float16_kernel)(args); }
}  // namespace rondo
#endif
