// SPDX-License-Identifier: Apache-2.0
// Reductions of float32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "float32.cc"
#include "targets.h"

#include "hwy/foreach_target.h"

#include "float_ops-inl.h"
#include "fold_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {
namespace {

#if RONDO_NO_VECTORS
void fold_float32_kernel(const ReduceArgs& args) { reduce_reference(args); }
#else
void fold_float32_kernel(const ReduceArgs& args) { fold_floats<FloatLanes<float> >(args); }
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
HWY_EXPORT(fold_float32_kernel);
void fold_float32(const ReduceArgs& args) { HWY_DYNAMIC_DISPATCH(fold_float32_kernel)(args); }
}  // namespace rondo
#endif
