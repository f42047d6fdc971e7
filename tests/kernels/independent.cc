// SPDX-License-Identifier: Apache-2.0
#include "independent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "type_rows.h"

namespace rondo {

SmallFloatTable::SmallFloatTable(int exponent_bits, int mantissa_bits, bool all_finite)
    : exponent_bits_(exponent_bits),
      mantissa_bits_(mantissa_bits),
      all_finite_(all_finite),
      sign_bit_(1U << (exponent_bits + mantissa_bits)),
      largest_finite_(all_finite ? sign_bit_ - 2 : sign_bit_ - (1U << mantissa_bits) - 1) {
  for (uint32_t code = 0; code <= largest_finite_ + 1; ++code) ascending_.push_back(formula(code));
}

double SmallFloatTable::formula(uint32_t magnitude) const {
  const int bias = (1 << (exponent_bits_ - 1)) - 1;
  const int exponent = static_cast<int>(magnitude >> mantissa_bits_);
  const double fraction = std::ldexp(magnitude & ((1U << mantissa_bits_) - 1), -mantissa_bits_);
  if (exponent == 0) return std::ldexp(fraction, 1 - bias);
  return std::ldexp(1 + fraction, exponent - bias);
}

bool SmallFloatTable::is_nan(uint32_t code) const {
  const uint32_t magnitude = code & (sign_bit_ - 1);
  return all_finite_ ? magnitude > largest_finite_ : magnitude > largest_finite_ + 1;
}

float SmallFloatTable::value(uint32_t code) const {
  if (is_nan(code)) return std::numeric_limits<float>::quiet_NaN();
  const uint32_t magnitude = code & (sign_bit_ - 1);
  const double absolute =
      magnitude > largest_finite_ ? std::numeric_limits<double>::infinity() : formula(magnitude);
  return static_cast<float>((code & sign_bit_) != 0 ? -absolute : absolute);
}

uint32_t SmallFloatTable::nearest(float x) const {
  const uint32_t sign = std::signbit(x) ? sign_bit_ : 0;
  const double absolute = std::abs(static_cast<double>(x));
  const auto above = std::lower_bound(ascending_.begin(), ascending_.end(), absolute);
  if (above == ascending_.end()) return sign | overflow();
  auto code = static_cast<uint32_t>(above - ascending_.begin());
  if (*above != absolute) {
    const double down = absolute - ascending_[code - 1], up = *above - absolute;
    if (down < up || (down == up && code % 2 == 1)) --code;
  }
  return sign | std::min(code, overflow());
}

const SmallFloatTable& small_float_table(ElementType type) {
  static std::map<ElementType, SmallFloatTable> tables;
  const test::TypeRow& row = test::kTypeRows.at(static_cast<size_t>(type));
  return tables.try_emplace(type, row.exponent_bits, row.mantissa_bits, !row.has_infinity).first->second;
}

}  // namespace rondo
