// SPDX-License-Identifier: Apache-2.0
// Wrapping sums and products of integers: signed and unsigned results have the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "integer_arithmetic.cc"
#include "targets.h"

#include "hwy/foreach_target.h"

#include "fold_kernels.h"
#include "integer_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {
namespace {

#if RONDO_NO_VECTORS
void fold_integer_arithmetic_kernel(const ReduceArgs& args) { reduce_reference(args); }
#else
struct IntegerAdd {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};

struct IntegerMultiply {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return wrapping_product(a, b);
  }
};

template <class T>
HWY_INLINE void fold_arithmetic(const ReduceArgs& args) {
  if (args.op == Reduction::Prod) {
    fold<IntegerLanes<T>, IntegerMultiply>(args);
  } else {
    fold_extended<IntegerLanes<T>, IntegerAdd>(args);
  }
}

void fold_integer_arithmetic_kernel(const ReduceArgs& args) {
  switch (element_info(args.type).bytes) {
    case 1: return fold_arithmetic<uint8_t>(args);
    case 2: return fold_arithmetic<uint16_t>(args);
    case 4: return fold_arithmetic<uint32_t>(args);
    default: return fold_arithmetic<uint64_t>(args);
  }
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
HWY_EXPORT(fold_integer_arithmetic_kernel);
void fold_integer_arithmetic(const ReduceArgs& args) {
  HWY_DYNAMIC_DISPATCH(fold_integer_arithmetic_kernel)(args);
}
}  // namespace rondo
#endif
