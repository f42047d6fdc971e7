// SPDX-License-Identifier: Apache-2.0
// Conversion of small floats to float32 and back by integer vector arithmetic: for float16 if the CPU has no
// instruction for it, and for all others but bfloat16. Included once for each Highway target.
#if defined(RONDO_KERNELS_SMALL_FLOAT_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_SMALL_FLOAT_LANES_INL_H_
#undef RONDO_KERNELS_SMALL_FLOAT_LANES_INL_H_
#else
#define RONDO_KERNELS_SMALL_FLOAT_LANES_INL_H_
#endif

#include "float_ops-inl.h"
#include "kernels/small_float.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {

/// Conversions, with one code in each 32-bit lane.
template <class T>
struct SmallFloatCodes {
  using D = hn::ScalableTag<float>;
  using DI = hn::RebindToSigned<D>;
  using DU = hn::RebindToUnsigned<D>;
  using V = hn::Vec<D>;
  using VU = hn::Vec<DU>;

  static constexpr SmallFloatFormat kFormat = T::kFormat;
  static constexpr int kCodeBits = 1 + kFormat.exponent_bits + kFormat.mantissa_bits;
  static constexpr int kDroppedBits = 23 - kFormat.mantissa_bits;
  static constexpr int32_t kRebias = 127 - kFormat.bias();         // added to an exponent, gives float32's
  static constexpr int32_t kSmallestNormal = (kRebias + 1) << 23;  // as float32 bits
  static constexpr int32_t kFloatInfinity = 0x7F800000;

  /// The value of the code in the highest bits of each lane; the bits below it are 0.
  static HWY_INLINE V decode(VU top) {
    const DI di;
    const auto sign = hn::And(top, hn::Set(DU(), 0x80000000U));
    // Exponent and mantissa, shifted to float32's position.
    const auto magnitude = hn::BitCast(di, hn::ShiftRight<8 - kFormat.exponent_bits>(hn::Xor(top, sign)));
    const auto normal = hn::Add(magnitude, hn::Set(di, kRebias << 23));
    // A subnormal lacks float32's implicit leading 1: add it, one exponent higher, and subtract it again.
    const auto implied = hn::Set(di, kSmallestNormal);
    const auto subnormal =
        hn::BitCast(di, hn::Sub(hn::BitCast(D(), hn::Add(magnitude, implied)), hn::BitCast(D(), implied)));
    auto bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 1 << 23)), subnormal, normal);
    if constexpr (kFormat.has_infinity) {
      // The largest exponent maps to float32's largest.
      const auto special = hn::Set(di, ((1 << kFormat.exponent_bits) - 1) << 23);
      const auto widened = hn::Add(normal, hn::Set(di, kRebias << 23));
      bits = hn::IfThenElse(hn::Lt(magnitude, special), bits, widened);
    } else {
      const auto nan = hn::Set(di, static_cast<int32_t>(kFormat.nan() << kDroppedBits));
      bits = hn::IfThenElse(hn::Eq(magnitude, nan), in_register(hn::Set(di, 0x7FC00000)), bits);
    }
    return hn::BitCast(D(), hn::Or(hn::BitCast(DU(), bits), sign));
  }

  /// The code nearest to each value, in the lowest bits of its lane.
  static HWY_INLINE VU encode(V v) {
    const DI di;
    const DU du;
    const auto bits = hn::BitCast(du, v);
    const auto sign = hn::And(bits, hn::Set(du, 0x80000000U));
    const auto magnitude = hn::BitCast(di, hn::Xor(bits, sign));
    // Adding just under half plus the lowest kept bit rounds ties to even; a carry increments the exponent.
    const auto odd = hn::And(hn::ShiftRight<kDroppedBits>(magnitude), hn::Set(di, 1));
    const auto nearest = hn::Add(hn::Add(magnitude, odd), hn::Set(di, (1 << (kDroppedBits - 1)) - 1));
    const auto normal =
        hn::Sub(hn::ShiftRight<kDroppedBits>(nearest), hn::Set(di, kRebias << kFormat.mantissa_bits));
    // A float32 whose last bit has the weight of the code's last bit: adding it makes the CPU round there.
    const auto aligner = hn::Set(di, (kRebias + 1 + kDroppedBits) << 23);
    const auto subnormal =
        hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(D(), magnitude), hn::BitCast(D(), aligner))), aligner);
    auto code = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, kSmallestNormal)), subnormal, normal);
    code = hn::Min(code, hn::Set(di, static_cast<int32_t>(kFormat.overflow())));
    const auto with_sign = hn::Or(hn::BitCast(du, code), hn::ShiftRight<32 - kCodeBits>(sign));
    const auto is_nan = hn::Lt(hn::Set(di, kFloatInfinity), magnitude);
    return hn::BitCast(du, hn::IfThenElse(is_nan, hn::Set(di, static_cast<int32_t>(kFormat.nan())),
                                          hn::BitCast(di, with_sign)));
  }
};

/// Small floats in memory: a 32-bit word holds two or four, and no element moves between lanes.
template <class T>
struct SmallFloatLanes : FloatMath<float> {
  using Codes = SmallFloatCodes<T>;
  using DU = typename Codes::DU;
  using VU = typename Codes::VU;
  static constexpr bool kTwo = sizeof(T) == 2;
  using Accumulator = std::conditional_t<kTwo, TwoHalves<V>, TwoHalves<TwoHalves<V>>>;

  static HWY_INLINE size_t step_bytes() { return hn::Lanes(D()) * sizeof(float); }

  static HWY_INLINE Accumulator load(const uint8_t* p) {
    const VU words = hn::LoadU(DU(), reinterpret_cast<const uint32_t*>(p));
    if constexpr (kTwo) {
      return {part<0>(words), part<1>(words)};
    } else {
      return {{part<0>(words), part<1>(words)}, {part<2>(words), part<3>(words)}};
    }
  }

  static HWY_INLINE void store(Accumulator a, uint8_t* p) {
    VU words;
    if constexpr (kTwo) {
      words = joined<16>(a.first, a.second);
    } else {
      words = hn::Or(joined<8>(a.first.first, a.first.second),
                     hn::ShiftLeft<16>(joined<8>(a.second.first, a.second.second)));
    }
    hn::StoreU(words, DU(), reinterpret_cast<uint32_t*>(p));
  }

  static HWY_INLINE V factor(const void* scalar) {
    T value;
    std::memcpy(&value, scalar, sizeof(T));
    return hn::Set(D(), to_float(value));
  }

  /// Rounds products to the storage type.
  static HWY_INLINE V scale(V a, V factor) {
    return Codes::decode(hn::ShiftLeft<32 - Codes::kCodeBits>(Codes::encode(hn::Mul(a, factor))));
  }
  template <class A>
  static HWY_INLINE TwoHalves<A> scale(TwoHalves<A> a, V factor) {
    return {scale(a.first, factor), scale(a.second, factor)};
  }

 private:
  template <int kIndex>
  static HWY_INLINE V part(VU words) {
    constexpr int kAbove = 32 - Codes::kCodeBits * (kIndex + 1);
    constexpr uint32_t kTop = ~((1U << (32 - Codes::kCodeBits)) - 1);
    return Codes::decode(hn::And(hn::ShiftLeft<kAbove>(words), hn::Set(DU(), kTop)));
  }

  template <int kBits>
  static HWY_INLINE VU joined(V low, V high) {
    return hn::Or(Codes::encode(low), hn::ShiftLeft<kBits>(Codes::encode(high)));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#endif
