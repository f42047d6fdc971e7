// SPDX-License-Identifier: Apache-2.0
// The benchmark's own float arithmetic, checked against the compiler's and the definitions of the formats.
#include <bit>
#include <cmath>
#include <random>

#include "catch.h"
#include "floats.h"
#include "seed.h"
#include "type_rows.h"
#include "types.h"

namespace {

using namespace rondo::perf;
using rondo::test::kTypeRows;

const FloatFormat kFloat32{8, 23, true}, kFloat64{11, 52, true}, kHalf{5, 10, true}, kE4M3{4, 3, false},
    kE5M2{5, 2, true};

}  // namespace

TEST_CASE("Every type has the name, size and format of its definition") {
  REQUIRE(all_types().size() == kTypeRows.size());
  for (size_t i = 0; i < kTypeRows.size(); ++i) {
    const TypeRow& type = all_types()[i];
    CAPTURE(kTypeRows[i].name);
    REQUIRE(type.id == static_cast<int>(i));
    REQUIRE(type.long_name == kTypeRows[i].name);
    REQUIRE(type.bytes == kTypeRows[i].bytes);
    REQUIRE(type.format.exponent_bits == kTypeRows[i].exponent_bits);
    REQUIRE(type.format.mantissa_bits == kTypeRows[i].mantissa_bits);
    REQUIRE(type.format.has_infinity == kTypeRows[i].has_infinity);
  }
}

TEST_CASE("Every number of the small floats survives conversion to double and back") {
  for (const auto& row : kTypeRows) {
    if (!row.is_small_float()) continue;
    const FloatFormat format{row.exponent_bits, row.mantissa_bits, row.has_infinity};
    for (uint64_t bits = 0; bits < uint64_t{1} << (8 * row.bytes); ++bits) {
      if (!is_finite(format, bits)) continue;
      CAPTURE(row.name, bits);
      REQUIRE(encode_float(format, decode_float(format, bits)) == bits);
    }
  }
}

TEST_CASE("float and double agree with the compiler's conversions") {
  std::mt19937_64 random(rondo::test::test_seed(3));
  for (int i = 0; i < 100000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    CAPTURE(value);
    REQUIRE(encode_float(kFloat64, value) == std::bit_cast<uint64_t>(value));
    const double near = std::ldexp(value, -std::ilogb(value) + static_cast<int>(random() % 300) - 160);
    REQUIRE(encode_float(kFloat32, near) == std::bit_cast<uint32_t>(static_cast<float>(near)));
    REQUIRE(decode_float(kFloat64, std::bit_cast<uint64_t>(value)) == value);
  }
}

TEST_CASE("Known values of the formats") {
  REQUIRE(encode_float(kHalf, 1.0) == 0x3c00);
  REQUIRE(encode_float(kHalf, 65504.0) == 0x7bff);
  REQUIRE(encode_float(kHalf, 65520.0) == 0x7c00);  // halfway to the next value: even is infinity
  REQUIRE(encode_float(kHalf, std::ldexp(1.0, -24)) == 1);
  REQUIRE(encode_float(kHalf, std::ldexp(1.0, -25)) == 0);  // a tie, to even
  REQUIRE(encode_float(kE4M3, 448.0) == 0x7e);
  REQUIRE(encode_float(kE4M3, 1e9) == 0x7e);  // no infinity
  REQUIRE(encode_float(kE4M3, -1.0) == 0xb8);
  REQUIRE(encode_float(kE5M2, 57344.0) == 0x7b);
  REQUIRE(encode_float(kE5M2, 1e9) == 0x7c);
  REQUIRE(std::isnan(decode_float(kE4M3, 0x7f)));
  REQUIRE(std::isinf(decode_float(kE5M2, 0x7c)));
  REQUIRE(std::isnan(decode_float(kE5M2, 0x7d)));
}
