// SPDX-License-Identifier: Apache-2.0
// Conversions between float32 and 16-bit or 8-bit floats, one value at a time, rounding to nearest even. Used
// by the reference reduction, by tests and wherever single values are converted. Pure functions, thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/element.h"

namespace rondo {

/// Layout of a small float: a sign bit, then the exponent, then the mantissa.
struct SmallFloatFormat {
  int exponent_bits;
  int mantissa_bits;
  uint32_t overflow;  // code, without its sign, of values that are too large and of infinity
  uint32_t nan;       // code of every NaN
  bool has_infinity;  // whether the largest exponent is reserved for infinity and NaN, as in IEEE 754

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr uint32_t sign() const { return 1U << (exponent_bits + mantissa_bits); }
};

template <class T>
inline constexpr SmallFloatFormat kSmallFloat{};
template <>
inline constexpr SmallFloatFormat kSmallFloat<Float16>{5, 10, 0x7C00, 0x7E00, true};
template <>
inline constexpr SmallFloatFormat kSmallFloat<BFloat16>{8, 7, 0x7F80, 0x7FC0, true};
template <>
inline constexpr SmallFloatFormat kSmallFloat<Float8E4M3>{4, 3, 0x7E, 0x7F, false};
template <>
inline constexpr SmallFloatFormat kSmallFloat<Float8E5M2>{5, 2, 0x7C, 0x7E, true};

/// A float stored in 16 or 8 bits.
template <class T>
concept SmallFloat = kSmallFloat<T>
.exponent_bits > 0;

namespace small_float {

constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

constexpr float decode(const SmallFloatFormat& format, uint32_t code) {
  const uint32_t magnitude = code & (format.sign() - 1);
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const uint32_t fraction = magnitude & ((1U << format.mantissa_bits) - 1);
  double value = 0;
  if (format.has_infinity ? magnitude > format.overflow : magnitude == format.nan) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (format.has_infinity && magnitude == format.overflow) {
    value = std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = fraction * power_of_two(1 - format.bias() - format.mantissa_bits);
  } else {
    value = (fraction + (1U << format.mantissa_bits)) *
            power_of_two(exponent - format.bias() - format.mantissa_bits);
  }
  return static_cast<float>((code & format.sign()) != 0 ? -value : value);
}

constexpr uint32_t encode(const SmallFloatFormat& format, float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 31 != 0 ? format.sign() : 0;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  constexpr uint32_t kInfinity = 0x7F800000;
  if (magnitude > kInfinity) return format.nan;
  if (magnitude == kInfinity) return sign | format.overflow;
  // Express the value in units of the format's spacing around it.
  const int exponent = std::max(static_cast<int>(magnitude >> 23) - 127, 1 - format.bias());
  const double units =
      static_cast<double>(std::bit_cast<float>(magnitude)) * power_of_two(format.mantissa_bits - exponent);
  auto whole = static_cast<uint32_t>(units);
  const double rest = units - whole;
  if (rest > 0.5 || (rest == 0.5 && (whole & 1) != 0)) ++whole;
  // A normal number's leading 1 is in `whole` and adds 1 to the exponent field; so does a carry.
  const uint32_t code = whole + (static_cast<uint32_t>(exponent + format.bias() - 1) << format.mantissa_bits);
  return sign | std::min(code, format.overflow);
}

}  // namespace small_float

/// The exact value.
template <SmallFloat T>
constexpr float to_float(T value) {
  return small_float::decode(kSmallFloat<T>, value.bits);
}

/// The nearest value of the type, ties to even. Values that are too large become infinity, or +-448 in
/// float8_e4m3, which has no infinity. Every NaN becomes the type's positive quiet NaN.
template <SmallFloat T>
constexpr T round_to(float value) {
  return T{static_cast<decltype(T::bits)>(small_float::encode(kSmallFloat<T>, value))};
}

}  // namespace rondo
