// SPDX-License-Identifier: Apache-2.0
// Products and scaled sums of complex numbers. Plain sums and averages are computed on their parts as floats.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "complex.cc"
#include "targets.h"

#include "hwy/foreach_target.h"

#include "float_ops-inl.h"
#include "fold_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {
namespace {

#if RONDO_NO_VECTORS
void fold_complex_kernel(const ReduceArgs& args) { reduce_reference(args); }
#else

// Real and imaginary parts, deinterleaved into separate registers.
template <class V>
struct Parts {
  V real, imaginary;
};

struct AddParts {
  template <class V>
  HWY_INLINE Parts<V> operator()(Parts<V> a, Parts<V> b) const {
    return {hn::Add(a.real, b.real), hn::Add(a.imaginary, b.imaginary)};
  }
};

// The schoolbook formula, with every product and sum rounded separately.
struct MultiplyParts {
  template <class V>
  HWY_INLINE Parts<V> operator()(Parts<V> a, Parts<V> b) const {
    return {hn::Sub(hn::Mul(a.real, b.real), hn::Mul(a.imaginary, b.imaginary)),
            hn::Add(hn::Mul(a.real, b.imaginary), hn::Mul(a.imaginary, b.real))};
  }
};

template <class T>
struct ComplexLanes {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using Accumulator = Parts<V>;
  using Factor = Parts<V>;
  using Divisor = V;

  static HWY_INLINE size_t step_bytes() { return hn::Lanes(D()) * 2 * sizeof(T); }
  static HWY_INLINE Accumulator load(const uint8_t* p) {
    V real, imaginary;
    hn::LoadInterleaved2(D(), reinterpret_cast<const T*>(p), real, imaginary);
    return {real, imaginary};
  }
  static HWY_INLINE void store(Accumulator a, uint8_t* p) {
    hn::StoreInterleaved2(with_one_nan(a.real), with_one_nan(a.imaginary), D(), reinterpret_cast<T*>(p));
  }
  static HWY_INLINE Factor factor(const void* scalar) {
    T parts[2];
    std::memcpy(parts, scalar, sizeof(parts));
    return {hn::Set(D(), parts[0]), hn::Set(D(), parts[1])};
  }
  static HWY_INLINE Accumulator scale(Accumulator a, Factor factor) { return MultiplyParts()(a, factor); }
  static HWY_INLINE Divisor divisor(int number) { return hn::Set(D(), static_cast<T>(number)); }
  static HWY_INLINE Accumulator divide(Accumulator a, Divisor by) {
    return {hn::Div(a.real, by), hn::Div(a.imaginary, by)};
  }
};

template <class T>
HWY_INLINE void fold_parts(const ReduceArgs& args) {
  if (args.op == Reduction::Prod) {
    fold<ComplexLanes<T>, MultiplyParts>(args);
  } else {
    fold_extended<ComplexLanes<T>, AddParts>(args);
  }
}

void fold_complex_kernel(const ReduceArgs& args) {
  if (args.type == ElementType::Complex64) {
    fold_parts<float>(args);
  } else {
    fold_parts<double>(args);
  }
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
HWY_EXPORT(fold_complex_kernel);
void fold_complex(const ReduceArgs& args) { HWY_DYNAMIC_DISPATCH(fold_complex_kernel)(args); }
}  // namespace rondo
#endif
