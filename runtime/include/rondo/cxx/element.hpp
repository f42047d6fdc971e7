// SPDX-License-Identifier: Apache-2.0
/**
 * @file element.hpp
 * @brief The types of elements, and how rondo.hpp deduces rondo.h's from those of C++.
 *
 * | element type | rondo.h's type |
 * |---|---|
 * | bool | RONDO_BOOL |
 * | any other integer, char and std::byte | RONDO_INT8 to RONDO_UINT64, by size and sign |
 * | float, double, and std::float16_t etc. if the compiler has them | by its bits |
 * | std::complex<float>, std::complex<double> | RONDO_COMPLEX64, RONDO_COMPLEX128 |
 * | rondo::float16, bfloat16, float8_e4m3, float8_e5m2 | by its name |
 * | a type that builtin_type is specialized for | as it says |
 * | any other trivially copyable type but pointers | its bytes, which only a user-defined Reduction combines
 * |
 */
#pragma once

#include <rondo/cxx/error.hpp>

#include <atomic>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace rondo {

/// The bits of an IEEE 754 binary16. Arithmetic is left to the library or compiler that computes with them.
struct float16 {
  std::uint16_t bits;  ///< Sign, 5 bits of exponent, 10 of mantissa.
};
/// The bits of a bfloat16.
struct bfloat16 {
  std::uint16_t bits;  ///< The upper half of a float's.
};
/// The bits of an OCP FP8 E4M3.
struct float8_e4m3 {
  std::uint8_t bits;  ///< Sign, 4 bits of exponent, 3 of mantissa.
};
/// The bits of an OCP FP8 E5M2.
struct float8_e5m2 {
  std::uint8_t bits;  ///< Sign, 5 bits of exponent, 2 of mantissa.
};

/// No type of rondo.h: elements travel as bytes.
inline constexpr rondo_type_t no_builtin_type = -1;

namespace detail {

template <typename T>
constexpr rondo_type_t integer_type() {
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1: return is_signed ? RONDO_INT8 : RONDO_UINT8;
    case 2: return is_signed ? RONDO_INT16 : RONDO_UINT16;
    case 4: return is_signed ? RONDO_INT32 : RONDO_UINT32;
    case 8: return is_signed ? RONDO_INT64 : RONDO_UINT64;
    default: return no_builtin_type;
  }
}

/// By the digits of the mantissa, so that std::float16_t and its siblings need no mention.
template <typename T>
constexpr rondo_type_t float_type() {
  constexpr int digits = std::numeric_limits<T>::digits;
  if (sizeof(T) == 2 && digits == 11) return RONDO_FLOAT16;
  if (sizeof(T) == 2 && digits == 8) return RONDO_BFLOAT16;
  if (sizeof(T) == 4 && digits == 24) return RONDO_FLOAT32;
  if (sizeof(T) == 8 && digits == 53) return RONDO_FLOAT64;
  return no_builtin_type;
}

template <typename T>
constexpr rondo_type_t deduced_type() {
  if constexpr (std::same_as<T, bool>) return RONDO_BOOL;
  if constexpr (std::same_as<T, std::byte>) return RONDO_UINT8;
  if constexpr (std::integral<T>) return integer_type<T>();
  if constexpr (std::floating_point<T>) return float_type<T>();
  if constexpr (std::same_as<T, std::complex<float>>) return RONDO_COMPLEX64;
  if constexpr (std::same_as<T, std::complex<double>>) return RONDO_COMPLEX128;
  if constexpr (std::same_as<T, float16>) return RONDO_FLOAT16;
  if constexpr (std::same_as<T, bfloat16>) return RONDO_BFLOAT16;
  if constexpr (std::same_as<T, float8_e4m3>) return RONDO_FLOAT8_E4M3;
  if constexpr (std::same_as<T, float8_e5m2>) return RONDO_FLOAT8_E5M2;
  return no_builtin_type;
}

}  // namespace detail

/// The type of rondo.h that has the bits of T. Specialize it for the types of other libraries:
/// `template <> inline constexpr rondo_type_t rondo::builtin_type<Eigen::half> = RONDO_FLOAT16;`
template <typename T>
inline constexpr rondo_type_t builtin_type = detail::deduced_type<T>();

/// A type that rondo.h's reductions combine.
template <typename T>
concept BuiltinElement = std::is_trivially_copyable_v<T> && builtin_type<T>
!= no_builtin_type;

/// A type whose values calls can move.
template <typename T>
concept Element = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_member_pointer_v<T> &&
                  !std::is_null_pointer_v<T>;

namespace detail {

/// A type of this many bytes, made when it is first needed and kept until the process ends.
template <std::size_t bytes>
Result<rondo_type_t> type_of_bytes() {
  static std::atomic<rondo_type_t> kept{no_builtin_type};
  rondo_type_t type = kept.load();
  if (type != no_builtin_type) return type;
  if (auto result = checked(rondo_type_create(bytes, &type)); !result) return result.error();
  rondo_type_t other = no_builtin_type;
  if (kept.compare_exchange_strong(other, type)) return type;
  rondo_type_destroy(type);  // another thread was first
  return other;
}

}  // namespace detail

/// The type by which calls move elements of type T.
template <Element T>
Result<rondo_type_t> type_of() {
  if constexpr (BuiltinElement<T>)
    return builtin_type<T>;
  else
    return detail::type_of_bytes<sizeof(T)>();
}

}  // namespace rondo
