// SPDX-License-Identifier: Apache-2.0
// Exact fractions.
#include <limits>
#include <numeric>
#include <random>

#include "catch.h"
#include "limit/rational.h"
#include "seed.h"

using namespace rondo;

namespace {

constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

}  // namespace

TEST_CASE("fractions are in lowest terms, with the sign above") {
  for (int64_t numerator = -30; numerator <= 30; ++numerator) {
    for (int64_t denominator = -30; denominator <= 30; ++denominator) {
      const auto fraction = Rational::of(numerator, denominator);
      REQUIRE(fraction.has_value() == (denominator != 0));
      if (!fraction) continue;
      CHECK(fraction->denominator() > 0);
      CHECK(std::gcd(fraction->numerator(), fraction->denominator()) == 1);
      CHECK(fraction->numerator() * denominator == numerator * fraction->denominator());
    }
  }
  CHECK(Rational() == 0);
  CHECK(Rational::of(0, -7)->denominator() == 1);
}

TEST_CASE("fractions that differ by the least compare as they should") {
  CHECK(*Rational::of(kHighest - 1, kHighest) < 1);
  CHECK(*Rational::of(kHighest - 2, kHighest - 1) < *Rational::of(kHighest - 1, kHighest));
  CHECK(*Rational::of(1, kHighest) > 0);
  CHECK(Rational(kLowest) < *Rational::of(kLowest + 1, 1));
  CHECK(*Rational::of(-1, 2) < *Rational::of(-1, 3));
  CHECK(*Rational::of(2, 6) == *Rational::of(-1, -3));
}

TEST_CASE("the order of random fractions is that of their cross products") {
  std::mt19937_64 random(test::test_seed(7));
  for (int i = 0; i != 10'000; ++i) {
    const auto a = static_cast<int64_t>(random() % 1'000'000), b = static_cast<int64_t>(random() % 1'000'000);
    const auto p = static_cast<int64_t>(random() % 1'000 + 1), q = static_cast<int64_t>(random() % 1'000 + 1);
    CHECK((*Rational::of(a, p) <=> *Rational::of(b, q)) == (a * q <=> b * p));
  }
}

TEST_CASE("what does not fit in lowest terms is no fraction") {
  CHECK_FALSE(Rational::of(WideInteger{kHighest} + 1, 1));
  CHECK_FALSE(Rational::of(1, WideInteger{kHighest} + 1));
  CHECK_FALSE(Rational::of(kLowest, -1));
  CHECK(Rational::of(WideInteger{kHighest} * 12, WideInteger{kHighest} * 9) == Rational::of(4, 3));
  CHECK(Rational::of(kLowest, 1)->numerator() == kLowest);
}

TEST_CASE("what does not fit is rounded up to a whole number if it may be") {
  CHECK(Rational::rounded_up(6, 4) == Rational::of(3, 2));
  const WideInteger large = WideInteger{kHighest} * 4 + 1;
  CHECK(Rational::rounded_up(large * 5, large * 3) == Rational::of(5, 3));
  CHECK(Rational::rounded_up(large * 5 + 1, large * 3) == 2);
  CHECK(Rational::rounded_up(large * 6 + 1, large * 3) == 3);
  CHECK(Rational::rounded_up(-large * 5 - 1, large * 3) == -1);
  CHECK(Rational::rounded_up(large * 5 + 1, -large * 3) == -1);
  CHECK(Rational::rounded_up(-large * 5 - 1, -large * 3) == 2);
}
