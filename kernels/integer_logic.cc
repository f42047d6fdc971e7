// SPDX-License-Identifier: Apache-2.0
// Bitwise and logical operations on integers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "integer_logic.cc"
#include "targets.h"

#include "hwy/foreach_target.h"

#include "fold_kernels.h"
#include "integer_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {
namespace {

#if RONDO_NO_VECTORS
void fold_integer_logic_kernel(const ReduceArgs& args) { reduce_reference(args); }
#else
struct BitwiseAnd {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::And(a, b);
  }
};

struct BitwiseOr {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Or(a, b);
  }
};

struct BitwiseXor {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Xor(a, b);
  }
};

// The bitwise operation applied to the operands' truth values, 0 and 1.
template <class Bitwise>
struct Logical {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    const V one = hn::Set(hn::DFromV<V>(), 1);
    return Bitwise()(hn::Min(a, one), hn::Min(b, one));
  }
};

// Bitwise operations do not depend on the element width.
template <class Bitwise>
HWY_INLINE void fold_bits(const ReduceArgs& args) {
  fold<IntegerLanes<uint8_t>, Bitwise>(args);
}

template <class Bitwise>
HWY_INLINE void fold_truth(const ReduceArgs& args) {
  switch (element_info(args.type).bytes) {
    case 1: return fold<IntegerLanes<uint8_t>, Logical<Bitwise> >(args);
    case 2: return fold<IntegerLanes<uint16_t>, Logical<Bitwise> >(args);
    case 4: return fold<IntegerLanes<uint32_t>, Logical<Bitwise> >(args);
    default: return fold<IntegerLanes<uint64_t>, Logical<Bitwise> >(args);
  }
}

void fold_integer_logic_kernel(const ReduceArgs& args) {
  switch (args.op) {
    case Reduction::BitAnd: return fold_bits<BitwiseAnd>(args);
    case Reduction::BitOr: return fold_bits<BitwiseOr>(args);
    case Reduction::BitXor: return fold_bits<BitwiseXor>(args);
    case Reduction::LogicalAnd: return fold_truth<BitwiseAnd>(args);
    case Reduction::LogicalOr: return fold_truth<BitwiseOr>(args);
    default: return fold_truth<BitwiseXor>(args);
  }
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
HWY_EXPORT(fold_integer_logic_kernel);
void fold_integer_logic(const ReduceArgs& args) { HWY_DYNAMIC_DISPATCH(fold_integer_logic_kernel)(args); }
}  // namespace rondo
#endif
