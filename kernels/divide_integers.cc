// SPDX-License-Identifier: Apache-2.0
// The final division of an integer average. CPUs have no vector instruction for it, so these are plain loops
// that the compiler vectorises as float divisions if those are exact enough.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "divide_integers.cc"
#include "targets.h"

#include "hwy/foreach_target.h"

#include <cstring>
#include <type_traits>

#include "fold_kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {
namespace {

// Divides in floats whose mantissa is longer than the integers: a rounded quotient then never reaches the
// integer above the exact one. For 64 bits there is no such float.
template <class T>
HWY_INLINE T quotient(T value, int divisor) {
  if constexpr (sizeof(T) < 4) {
    return static_cast<T>(static_cast<int32_t>(static_cast<float>(value) / static_cast<float>(divisor)));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<T>(static_cast<double>(value) / static_cast<double>(divisor));
  } else {
    return value / static_cast<T>(divisor);
  }
}

template <class T>
HWY_INLINE void divide_all(const ReduceArgs& args) {
  auto* p = static_cast<uint8_t*>(args.out);
  for (size_t i = 0; i < args.count; ++i) {
    T value;
    std::memcpy(&value, p + i * sizeof(T), sizeof(T));
    value = quotient(value, args.divisor);
    std::memcpy(p + i * sizeof(T), &value, sizeof(T));
  }
}

void divide_integers_kernel(const ReduceArgs& args) {
  switch (args.type) {
    case ElementType::Int8: return divide_all<int8_t>(args);
    case ElementType::UInt8: return divide_all<uint8_t>(args);
    case ElementType::Int16: return divide_all<int16_t>(args);
    case ElementType::UInt16: return divide_all<uint16_t>(args);
    case ElementType::Int32: return divide_all<int32_t>(args);
    case ElementType::UInt32: return divide_all<uint32_t>(args);
    case ElementType::Int64: return divide_all<int64_t>(args);
    default: return divide_all<uint64_t>(args);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
HWY_EXPORT(divide_integers_kernel);
void divide_integers(const ReduceArgs& args) { HWY_DYNAMIC_DISPATCH(divide_integers_kernel)(args); }
}  // namespace rondo
#endif
