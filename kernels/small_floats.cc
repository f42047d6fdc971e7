// SPDX-License-Identifier: Apache-2.0
// Reductions of the small floats that have no kernel of their own, computed in float32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "small_floats.cc"
#include "targets.h"

#include "hwy/foreach_target.h"

#include "fold_kernels.h"
#include "small_float_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {
namespace {

#if RONDO_NO_VECTORS
void fold_small_floats_kernel(const ReduceArgs& args) { reduce_reference(args); }
#else
template <class T>
inline constexpr bool kHasOwnKernel = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

template <SmallFloat T>
void fold_small_float(const ReduceArgs& args) {
  if constexpr (kHasOwnKernel<T>) {
    reduce_reference(args);  // reduce() does not route it here
  } else {
    fold_floats<SmallFloatLanes<T> >(args);
  }
}

void fold_small_floats_kernel(const ReduceArgs& args) {
  switch (args.type) {
#define X(storage, ...)      \
  case ElementType::storage: \
    return fold_small_float<storage>(args);
    RONDO_SMALL_FLOATS(X)
#undef X
    default: return reduce_reference(args);
  }
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
HWY_EXPORT(fold_small_floats_kernel);
void fold_small_floats(const ReduceArgs& args) { HWY_DYNAMIC_DISPATCH(fold_small_floats_kernel)(args); }
}  // namespace rondo
#endif
