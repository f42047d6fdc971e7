// SPDX-License-Identifier: Apache-2.0
// Element types: one row of RONDO_ELEMENT_TYPES each, from which all else derives: names, sizes, the dispatch
// of the host and CUDA kernels, the bindings. Pure data: any thread.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rondo {

/// Layout of a small float: a sign bit, then the exponent, then the mantissa.
struct SmallFloatFormat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  // whether the largest exponent is reserved for infinity and NaN, as in IEEE 754

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr uint32_t sign() const { return 1U << (exponent_bits + mantissa_bits); }
  /// The code of every NaN.
  constexpr uint32_t nan() const { return has_infinity ? sign() - (1U << (mantissa_bits - 1)) : sign() - 1; }
  /// The code, without its sign, of values that are too large and of infinity.
  constexpr uint32_t overflow() const { return has_infinity ? sign() - (1U << mantissa_bits) : sign() - 2; }
};

// Floats of 8 and 16 bits, which C++20 lacks; arithmetic on them is done in float32.
// X(storage type and enumerator, type of its bits, exponent bits, mantissa bits, whether it has infinity)
#define RONDO_SMALL_FLOATS(X)         \
  X(Float16, uint16_t, 5, 10, true)   \
  X(BFloat16, uint16_t, 8, 7, true)   \
  X(Float8E4M3, uint8_t, 4, 3, false) \
  X(Float8E5M2, uint8_t, 5, 2, true)

#define X(type, code, exponent_bits, mantissa_bits, has_infinity)                          \
  struct type {                                                                            \
    static constexpr SmallFloatFormat kFormat{exponent_bits, mantissa_bits, has_infinity}; \
    code bits;                                                                             \
  };
RONDO_SMALL_FLOATS(X)
#undef X

template <class T>
concept SmallFloat = requires {
  T::kFormat;
};

/// A truth value of one byte; anything but 0 reads as true.
struct Bool8 {
  uint8_t bits;
};

/// The class of a type, on which the allowed operations depend.
enum class ElementClass : uint8_t { Integer, Float, Complex, Boolean };

// In the order of their numbers in the C API:
// X(enumerator, constant of the C API after RONDO_, name, storage type, class)
#define RONDO_ELEMENT_TYPES(X)                                           \
  X(Int8, INT8, "int8", int8_t, Integer)                                 \
  X(UInt8, UINT8, "uint8", uint8_t, Integer)                             \
  X(Int16, INT16, "int16", int16_t, Integer)                             \
  X(UInt16, UINT16, "uint16", uint16_t, Integer)                         \
  X(Int32, INT32, "int32", int32_t, Integer)                             \
  X(UInt32, UINT32, "uint32", uint32_t, Integer)                         \
  X(Int64, INT64, "int64", int64_t, Integer)                             \
  X(UInt64, UINT64, "uint64", uint64_t, Integer)                         \
  X(Float16, FLOAT16, "float16", ::rondo::Float16, Float)                \
  X(BFloat16, BFLOAT16, "bfloat16", ::rondo::BFloat16, Float)            \
  X(Float8E4M3, FLOAT8_E4M3, "float8_e4m3", ::rondo::Float8E4M3, Float)  \
  X(Float8E5M2, FLOAT8_E5M2, "float8_e5m2", ::rondo::Float8E5M2, Float)  \
  X(Float32, FLOAT32, "float32", float, Float)                           \
  X(Float64, FLOAT64, "float64", double, Float)                          \
  X(Complex64, COMPLEX64, "complex64", std::complex<float>, Complex)     \
  X(Complex128, COMPLEX128, "complex128", std::complex<double>, Complex) \
  X(Bool, BOOL, "bool", ::rondo::Bool8, Boolean)

enum class ElementType : uint8_t {
#define X(enumerator, ...) enumerator,
  RONDO_ELEMENT_TYPES(X)
#undef X
};

inline constexpr int kElementTypes = 0
#define X(...) +1
    RONDO_ELEMENT_TYPES(X)
#undef X
    ;

struct ElementInfo {
  std::string_view name;
  size_t bytes;
  ElementClass kind;
};

inline constexpr ElementInfo kElementInfos[] = {
#define X(enumerator, constant, name, storage, kind) {name, sizeof(storage), ElementClass::kind},
    RONDO_ELEMENT_TYPES(X)
#undef X
};

/// The row of a built-in type.
constexpr const ElementInfo& element_info(ElementType type) {
  return kElementInfos[static_cast<size_t>(type)];
}

/// The element type of a call: built in, or user-defined opaque bytes of a fixed size.
struct CallType {
  uint32_t id = 0;     // the C API's rondo_type_t
  uint32_t bytes = 1;  // of one element

  static constexpr CallType of(ElementType type) {
    return {static_cast<uint32_t>(type), static_cast<uint32_t>(element_info(type).bytes)};
  }
  bool built_in() const { return id < static_cast<uint32_t>(kElementTypes); }
  ElementType element() const { return static_cast<ElementType>(id); }  // requires built_in()
  friend bool operator==(const CallType&, const CallType&) = default;
};

}  // namespace rondo
