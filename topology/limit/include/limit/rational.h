// SPDX-License-Identifier: Apache-2.0
// Rational: an exact fraction of whole numbers. Bounds and plans are compared as fractions, since rounding
// would make the outcome depend on the compiler. Immutable values: any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>

namespace rondo {

__extension__ using WideInteger = __int128;  // holds the product of any two int64_t

class Rational {
 public:
  constexpr Rational() = default;                                      // 0
  constexpr Rational(int64_t whole) : numerator_(whole) {}             // NOLINT: implicit by design
  friend bool operator==(const Rational&, const Rational&) = default;  // lowest terms are unique

  /// Nothing if the fraction does not fit in lowest terms, or the denominator is 0.
  static constexpr std::optional<Rational> of(WideInteger numerator, WideInteger denominator) {
    if (denominator == 0) return std::nullopt;
    const WideInteger divisor = greatest_common_divisor(numerator, denominator);
    const WideInteger sign = denominator < 0 ? -1 : 1;
    numerator = numerator / divisor * sign;
    denominator = denominator / divisor * sign;
    if (!fits(numerator) || !fits(denominator)) return std::nullopt;
    Rational result;
    result.numerator_ = static_cast<int64_t>(numerator);
    result.denominator_ = static_cast<int64_t>(denominator);
    return result;
  }

  /// The fraction, or if that does not fit in lowest terms, the next whole number. That has to fit.
  static constexpr Rational rounded_up(WideInteger numerator, WideInteger denominator) {
    if (const auto exact = of(numerator, denominator)) return *exact;
    const WideInteger whole = numerator / denominator;  // rounded towards 0
    const bool is_below = whole * denominator != numerator && (numerator < 0) == (denominator < 0);
    return static_cast<int64_t>(whole + (is_below ? 1 : 0));
  }

  constexpr int64_t numerator() const { return numerator_; }
  constexpr int64_t denominator() const { return denominator_; }  // positive

  friend constexpr std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
    return WideInteger{a.numerator_} * b.denominator_ <=> WideInteger{b.numerator_} * a.denominator_;
  }

  /// For printing alone.
  double approximate() const { return static_cast<double>(numerator_) / static_cast<double>(denominator_); }

 private:
  static constexpr bool fits(WideInteger value) {
    return value >= std::numeric_limits<int64_t>::min() && value <= std::numeric_limits<int64_t>::max();
  }

  static constexpr WideInteger greatest_common_divisor(WideInteger a, WideInteger b) {
    if (a < 0) a = -a;
    if (b < 0) b = -b;
    while (b != 0) {
      const WideInteger rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }

  int64_t numerator_ = 0;
  int64_t denominator_ = 1;
};

}  // namespace rondo
