// SPDX-License-Identifier: Apache-2.0
// The conversions of small floats, checked against the list of all their values.
#include "kernels/small_float.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "catch.h"
#include "independent.h"
#include "seed.h"

namespace rondo {
namespace {

template <class T>
uint32_t code_of(float value) {
  return round_to<T>(value).bits;
}

template <class T>
float value_of(uint32_t code) {
  return to_float(T{static_cast<decltype(T::bits)>(code)});
}

bool same_bits(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

template <class T>
void every_code_round_trips(const SmallFloatTable& table) {
  for (uint32_t code = 0; code < 2 * table.sign_bit(); ++code) {
    const float value = value_of<T>(code);
    CAPTURE(code, value);
    if (table.is_nan(code)) {
      REQUIRE(std::isnan(value));
      REQUIRE(table.is_nan(code_of<T>(value)));
    } else {
      REQUIRE(same_bits(value, table.value(code)));
      REQUIRE(code_of<T>(value) == code);
    }
  }
}

// Between adjacent values a and b: the midpoint rounds to even, and the floats next to it to the nearer
// value.
template <class T>
void middles_round_to_even(const SmallFloatTable& table) {
  for (uint32_t code = 0; code < table.largest_finite(); ++code) {
    const auto middle = static_cast<float>((double{table.value(code)} + table.value(code + 1)) / 2);
    const uint32_t even = code % 2 == 0 ? code : code + 1;
    CAPTURE(code, middle);
    REQUIRE(code_of<T>(middle) == even);
    REQUIRE(code_of<T>(-middle) == (even | table.sign_bit()));
    REQUIRE(code_of<T>(std::nextafter(middle, 0.0F)) == code);
    REQUIRE(code_of<T>(std::nextafter(middle, std::numeric_limits<float>::infinity())) == code + 1);
  }
}

template <class T>
void random_floats_go_to_the_nearest(const SmallFloatTable& table) {
  constexpr uint64_t kSeed = 7;
  std::mt19937_64 random(test::test_seed(kSeed));
  for (int i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    CAPTURE(kSeed, i, value);
    if (std::isnan(value)) {
      REQUIRE(code_of<T>(value) == table.nan());
    } else {
      REQUIRE(code_of<T>(value) == table.nearest(value));
    }
  }
}

template <class T>
void conversions_hold(ElementType type) {
  INFO(element_info(type).name);
  const SmallFloatTable& table = small_float_table(type);
  every_code_round_trips<T>(table);
  middles_round_to_even<T>(table);
  random_floats_go_to_the_nearest<T>(table);
  REQUIRE(code_of<T>(std::numeric_limits<float>::infinity()) == table.overflow());
  REQUIRE(code_of<T>(-std::numeric_limits<float>::infinity()) == (table.overflow() | table.sign_bit()));
  REQUIRE(code_of<T>(std::numeric_limits<float>::max()) == table.overflow());
  REQUIRE(code_of<T>(-0.0F) == table.sign_bit());
}

void all_conversions_hold() {
#define X(type, ...) conversions_hold<type>(ElementType::type);
  RONDO_SMALL_FLOATS(X)
#undef X
}

}  // namespace

TEST_CASE("small floats convert exactly, round to nearest even, and saturate if they have no infinity") {
  all_conversions_hold();
}

TEST_CASE("known codes of small floats") {
  REQUIRE(code_of<Float16>(1.0F) == 0x3C00);
  REQUIRE(code_of<Float16>(65504.0F) == 0x7BFF);
  REQUIRE(code_of<Float16>(65519.996F) == 0x7BFF);
  REQUIRE(code_of<Float16>(65520.0F) == 0x7C00);
  REQUIRE(code_of<BFloat16>(1.0F) == 0x3F80);
  REQUIRE(code_of<Float8E4M3>(1.0F) == 0x38);
  REQUIRE(code_of<Float8E4M3>(448.0F) == 0x7E);
  REQUIRE(code_of<Float8E4M3>(1e9F) == 0x7E);
  REQUIRE(code_of<Float8E5M2>(1.0F) == 0x3C);
  REQUIRE(code_of<Float8E5M2>(57344.0F) == 0x7B);
  REQUIRE(code_of<Float8E5M2>(61440.0F) == 0x7C);
}

}  // namespace rondo
