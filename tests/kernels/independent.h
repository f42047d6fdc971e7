// SPDX-License-Identifier: Apache-2.0
// Expected results, computed independently of the library: in exact or much wider arithmetic, and for small
// floats by searching the list of all their values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/element.h"

namespace rondo {

/// 128 bits, for exact integer arithmetic.
__extension__ using WideInt = __int128;
__extension__ using WideUnsigned = unsigned __int128;

/// A float with more than twice the precision of float64: rounding its sums, products and quotients to
/// float64 gives the correctly rounded exact results.
#ifdef __SIZEOF_FLOAT128__
__extension__ using WideFloat = __float128;
#else
using WideFloat = long double;
#endif

/// The values of a small float format, by its definition.
class SmallFloatTable {
 public:
  /// `all_finite`: no infinities; with the largest exponent, only the last code is NaN.
  SmallFloatTable(int exponent_bits, int mantissa_bits, bool all_finite);

  /// The value of a code; NaN codes give NaN.
  float value(uint32_t code) const;
  /// The code of the value nearest to x, ties to the even code. Not for NaN.
  uint32_t nearest(float x) const;
  bool is_nan(uint32_t code) const;
  /// The positive quiet NaN, whose mantissa is 1000...; without infinities, the only positive NaN.
  uint32_t nan() const { return all_finite_ ? sign_bit_ - 1 : overflow() + (1U << (mantissa_bits_ - 1)); }

  uint32_t sign_bit() const { return sign_bit_; }
  /// Positive finite codes range from 0 to this one.
  uint32_t largest_finite() const { return largest_finite_; }
  /// The code above that: infinity, or the largest finite code again.
  uint32_t overflow() const { return all_finite_ ? largest_finite_ : largest_finite_ + 1; }

 private:
  double formula(uint32_t magnitude) const;

  int exponent_bits_;
  int mantissa_bits_;
  bool all_finite_;
  uint32_t sign_bit_;
  uint32_t largest_finite_;
  std::vector<double> ascending_;  // by code: the finite values, then the next one beyond them
};

/// The table of a small float, by its row in tests/support/type_rows.h.
const SmallFloatTable& small_float_table(ElementType type);

}  // namespace rondo
