// SPDX-License-Identifier: Apache-2.0
// Minima and maxima of integers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "integer_order.cc"
#include "targets.h"

#include "hwy/foreach_target.h"

#include "fold_kernels.h"
#include "integer_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {
namespace {

#if RONDO_NO_VECTORS
void fold_integer_order_kernel(const ReduceArgs& args) { reduce_reference(args); }
#else
struct Smaller {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Min(a, b);
  }
};

struct Larger {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Max(a, b);
  }
};

template <class T>
HWY_INLINE void fold_order(const ReduceArgs& args) {
  if (args.op == Reduction::Min) {
    fold<IntegerLanes<T>, Smaller>(args);
  } else {
    fold<IntegerLanes<T>, Larger>(args);
  }
}

void fold_integer_order_kernel(const ReduceArgs& args) {
  switch (args.type) {
    case ElementType::Int8: return fold_order<int8_t>(args);
    case ElementType::UInt8: return fold_order<uint8_t>(args);
    case ElementType::Int16: return fold_order<int16_t>(args);
    case ElementType::UInt16: return fold_order<uint16_t>(args);
    case ElementType::Int32: return fold_order<int32_t>(args);
    case ElementType::UInt32: return fold_order<uint32_t>(args);
    case ElementType::Int64: return fold_order<int64_t>(args);
    default: return fold_order<uint64_t>(args);
  }
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
HWY_EXPORT(fold_integer_order_kernel);
void fold_integer_order(const ReduceArgs& args) { HWY_DYNAMIC_DISPATCH(fold_integer_order_kernel)(args); }
}  // namespace rondo
#endif
