// SPDX-License-Identifier: Apache-2.0
// Reductions of float8_e4m3 and float8_e5m2, computed in float32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "float8.cc"
#include "targets.h"

#include "hwy/foreach_target.h"

#include "fold_kernels.h"
#include "small_float_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {
namespace {

#if RONDO_NO_VECTORS
void fold_float8_kernel(const ReduceArgs& args) { reduce_reference(args); }
#else
void fold_float8_kernel(const ReduceArgs& args) {
  if (args.type == ElementType::Float8E4M3) {
    fold_floats<SmallFloatLanes<Float8E4M3> >(args);
  } else {
    fold_floats<SmallFloatLanes<Float8E5M2> >(args);
  }
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
HWY_EXPORT(fold_float8_kernel);
void fold_float8(const ReduceArgs& args) { HWY_DYNAMIC_DISPATCH(fold_float8_kernel)(args); }
}  // namespace rondo
#endif
