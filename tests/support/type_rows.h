// SPDX-License-Identifier: Apache-2.0
// The definitions of the element types, written down independently of the library, for computing expected
// results. Pure data.
#pragma once

#include <array>
#include <cstddef>

namespace rondo::test {

enum class Class { Signed, Unsigned, Float, Complex, Bool };

struct TypeRow {
  const char* name;
  size_t bytes;
  Class kind;
  int exponent_bits = 0;     // of a float, or of each part of a complex number
  int mantissa_bits = 0;     // stored bits only
  bool has_infinity = true;  // false: with the largest exponent, only the last code is not a number

  constexpr bool is_rounded() const { return kind == Class::Float || kind == Class::Complex; }
  constexpr bool is_small_float() const { return kind == Class::Float && bytes <= 2; }
};

/// In the order of the types' numbers.
inline constexpr auto kTypeRows = std::to_array<TypeRow>({
    {"int8", 1, Class::Signed},
    {"uint8", 1, Class::Unsigned},
    {"int16", 2, Class::Signed},
    {"uint16", 2, Class::Unsigned},
    {"int32", 4, Class::Signed},
    {"uint32", 4, Class::Unsigned},
    {"int64", 8, Class::Signed},
    {"uint64", 8, Class::Unsigned},
    {"float16", 2, Class::Float, 5, 10},
    {"bfloat16", 2, Class::Float, 8, 7},
    {"float8_e4m3", 1, Class::Float, 4, 3, false},
    {"float8_e5m2", 1, Class::Float, 5, 2},
    {"float32", 4, Class::Float, 8, 23},
    {"float64", 8, Class::Float, 11, 52},
    {"complex64", 8, Class::Complex, 8, 23},
    {"complex128", 16, Class::Complex, 11, 52},
    {"bool", 1, Class::Bool},
});

}  // namespace rondo::test
