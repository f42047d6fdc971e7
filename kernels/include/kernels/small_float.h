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

namespace small_float {

constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

constexpr float decode(const SmallFloatFormat& format, uint32_t code) {
  const uint32_t magnitude = code & (format.sign() - 1);
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const uint32_t fraction = magnitude & ((1U << format.mantissa_bits) - 1);
  double value = 0;
  if (magnitude > format.overflow()) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (format.has_infinity && magnitude == format.overflow()) {
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
  if (magnitude > kInfinity) return format.nan();
  if (magnitude == kInfinity) return sign | format.overflow();
  // Express the value in units of the format's spacing around it.
  const int exponent = std::max(static_cast<int>(magnitude >> 23) - 127, 1 - format.bias());
  const double units =
      static_cast<double>(std::bit_cast<float>(magnitude)) * power_of_two(format.mantissa_bits - exponent);
  auto whole = static_cast<uint32_t>(units);
  const double rest = units - whole;
  if (rest > 0.5 || (rest == 0.5 && (whole & 1) != 0)) ++whole;
  // A normal number's leading 1 is in `whole` and adds 1 to the exponent field; so does a carry.
  const uint32_t code = whole + (static_cast<uint32_t>(exponent + format.bias() - 1) << format.mantissa_bits);
  return sign | std::min(code, format.overflow());
}

}  // namespace small_float

/// The exact value.
template <SmallFloat T>
constexpr float to_float(T value) {
  return small_float::decode(T::kFormat, value.bits);
}

/// The nearest value of the type, ties to even. Values that are too large become infinity, or the largest
/// number of a type without infinity. Every NaN becomes the type's positive quiet NaN.
template <SmallFloat T>
constexpr T round_to(float value) {
  return T{static_cast<decltype(T::bits)>(small_float::encode(T::kFormat, value))};
}

}  // namespace rondo
