// SPDX-License-Identifier: Apache-2.0
// Element types: one row of RONDO_ELEMENT_TYPES each, from which all else derives: names, sizes, the dispatch
// of the host and CUDA kernels, the bindings. Pure data: any thread.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rondo {

/// Storage of float types that C++20 lacks; arithmetic on them is done in float32.
struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
struct Float8E4M3 {
  uint8_t bits;
};
struct Float8E5M2 {
  uint8_t bits;
};
/// A truth value of one byte; anything but 0 reads as true.
struct Bool8 {
  uint8_t bits;
};

/// The class of a type, on which the allowed operations depend.
enum class ElementClass : uint8_t { Integer, Float, Complex, Boolean };

// X(enumerator, number in the C API, name, storage type, accumulator, class)
#define RONDO_ELEMENT_TYPES(X)                                                         \
  X(Int8, 0, "int8", int8_t, int8_t, Integer)                                          \
  X(UInt8, 1, "uint8", uint8_t, uint8_t, Integer)                                      \
  X(Int16, 2, "int16", int16_t, int16_t, Integer)                                      \
  X(UInt16, 3, "uint16", uint16_t, uint16_t, Integer)                                  \
  X(Int32, 4, "int32", int32_t, int32_t, Integer)                                      \
  X(UInt32, 5, "uint32", uint32_t, uint32_t, Integer)                                  \
  X(Int64, 6, "int64", int64_t, int64_t, Integer)                                      \
  X(UInt64, 7, "uint64", uint64_t, uint64_t, Integer)                                  \
  X(Float16, 8, "float16", ::rondo::Float16, float, Float)                             \
  X(BFloat16, 9, "bfloat16", ::rondo::BFloat16, float, Float)                          \
  X(Float8E4M3, 10, "float8_e4m3", ::rondo::Float8E4M3, float, Float)                  \
  X(Float8E5M2, 11, "float8_e5m2", ::rondo::Float8E5M2, float, Float)                  \
  X(Float32, 12, "float32", float, float, Float)                                       \
  X(Float64, 13, "float64", double, double, Float)                                     \
  X(Complex64, 14, "complex64", std::complex<float>, std::complex<float>, Complex)     \
  X(Complex128, 15, "complex128", std::complex<double>, std::complex<double>, Complex) \
  X(Bool, 16, "bool", ::rondo::Bool8, ::rondo::Bool8, Boolean)

enum class ElementType : uint8_t {
#define X(enumerator, number, name, storage, accumulator, kind) enumerator = number,
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
#define X(enumerator, number, name, storage, accumulator, kind) {name, sizeof(storage), ElementClass::kind},
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
