// SPDX-License-Identifier: Apache-2.0
#include "floats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondo::perf {
namespace {

struct Limits {
  int bias;
  uint64_t top_exponent;  // all ones
  uint64_t mantissa_mask;
  uint64_t largest;  // bits of the largest finite number
  uint64_t infinity;
};

Limits limits(const FloatFormat& format) {
  Limits l;
  l.bias = (1 << (format.exponent_bits - 1)) - 1;
  l.top_exponent = (uint64_t{1} << format.exponent_bits) - 1;
  l.mantissa_mask = (uint64_t{1} << format.mantissa_bits) - 1;
  l.infinity = l.top_exponent << format.mantissa_bits;
  // Without infinities only the pattern of all ones is NaN, so the number before it is the largest.
  l.largest = format.has_infinity ? l.infinity - 1 : (l.infinity | l.mantissa_mask) - 1;
  return l;
}

uint64_t sign_bit(const FloatFormat& format) {
  return uint64_t{1} << (format.exponent_bits + format.mantissa_bits);
}

}  // namespace

uint64_t encode_float(const FloatFormat& format, double value) {
  const Limits l = limits(format);
  const uint64_t sign = std::signbit(value) ? sign_bit(format) : 0;
  if (std::isnan(value)) return sign | l.infinity | l.mantissa_mask;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // in [0.5, 1) times 2^exponent
  // Subnormal numbers have the spacing of the smallest normal number.
  const int scale = std::max(exponent - 1, 1 - l.bias);
  const double steps =
      std::isinf(magnitude) ? magnitude : std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - scale));
  const uint64_t beyond = sign | (format.has_infinity ? l.infinity : l.largest);
  if (std::isinf(steps)) return beyond;
  // The hidden one of a normal number carries into the exponent field, as does rounding up to a power of two.
  const auto field = static_cast<int64_t>(scale + l.bias - 1) << format.mantissa_bits;
  const uint64_t bits = static_cast<uint64_t>(field) + static_cast<uint64_t>(steps);
  return bits > l.largest ? beyond : sign | bits;
}

double decode_float(const FloatFormat& format, uint64_t bits) {
  const Limits l = limits(format);
  const uint64_t magnitude = bits & (sign_bit(format) - 1);
  double value = 0;
  if (magnitude > l.largest) {
    value = format.has_infinity && magnitude == l.infinity ? std::numeric_limits<double>::infinity()
                                                           : std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
    uint64_t mantissa = magnitude & l.mantissa_mask;
    if (exponent > 0) mantissa |= l.mantissa_mask + 1;
    value = std::ldexp(static_cast<double>(mantissa), std::max(exponent, 1) - l.bias - format.mantissa_bits);
  }
  return (bits & sign_bit(format)) != 0 ? -value : value;
}

bool is_finite(const FloatFormat& format, uint64_t bits) {
  return (bits & (sign_bit(format) - 1)) <= limits(format).largest;
}

}  // namespace rondo::perf
