// SPDX-License-Identifier: Apache-2.0
// reduce_reference() against independent results: exact integers, wider floats, listed small floats.
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include "catch.h"
#include "independent.h"
#include "kernels/reduce.h"
#include "kernels/small_float.h"
#include "samples.h"
#include "seed.h"

namespace rondo {
namespace {

constexpr uint64_t kSeed = 99;

template <class T>
T at(const void* elements, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const uint8_t*>(elements) + index * sizeof(T), sizeof(T));
  return value;
}

// The operations on exact integers; `wrap` truncates a result to the type.
template <class T>
T wrap(WideInt value) {
  const WideInt span = WideInt{1} << (8 * sizeof(T));
  WideInt low = value % span;
  if (low < 0) low += span;
  if (low > WideInt{std::numeric_limits<T>::max()}) low -= span;
  return static_cast<T>(low);
}

template <class T>
WideInt widened(T value) {
  return value;
}

template <class T>
T integer_result(Reduction op, T left, T right) {
  const WideInt a = widened(left), b = widened(right);
  switch (op) {
    case Reduction::Prod: return wrap<T>(static_cast<WideInt>(WideUnsigned(a) * WideUnsigned(b)));
    case Reduction::Min: return a < b ? left : right;
    case Reduction::Max: return a > b ? left : right;
    case Reduction::BitAnd: return wrap<T>(a & b);
    case Reduction::BitOr: return wrap<T>(a | b);
    case Reduction::BitXor: return wrap<T>(a ^ b);
    case Reduction::LogicalAnd: return wrap<T>(a == 0 ? 0 : static_cast<int>(b != 0));
    case Reduction::LogicalOr: return wrap<T>(a != 0 ? 1 : static_cast<int>(b != 0));
    case Reduction::LogicalXor: return wrap<T>(a == 0 ? static_cast<int>(b != 0) : static_cast<int>(b == 0));
    default: return wrap<T>(a + b);
  }
}

// The operations on floats, in a wider type W.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, WideFloat>;

template <class T>
T float_result(Reduction op, T left, T right) {
  const Wide<T> a = left, b = right;
  if (op == Reduction::Prod) return static_cast<T>(a * b);
  if (op != Reduction::Min && op != Reduction::Max) return static_cast<T>(a + b);
  if (a != a) return left;
  if (b != b) return right;
  const bool minus_first = a == 0 && b == 0 && std::signbit(left);
  const bool left_is_less = a < b || minus_first;
  if (op == Reduction::Min) return left_is_less ? left : right;
  return left_is_less ? right : left;
}

template <class T>
bool same_float(T a, T b) {
  using Bits = std::array<uint8_t, sizeof(T)>;
  return (a != a && b != b) || std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

struct Case {
  ElementType type;
  Reduction op;
  size_t sources;
  int divisor = 1;
};

// Random sources of a case and the reference's result.
struct Run {
  static constexpr size_t kCount = 400;

  Run(const Case& which, std::mt19937_64& random) {
    const size_t bytes = kCount * element_info(which.type).bytes;
    std::vector<const void*> pointers;
    sources.reserve(which.sources);
    pointers.reserve(which.sources);
    for (size_t k = 0; k < which.sources; ++k) {
      sources.emplace_back(bytes);
      fill_samples(sources.back(), which.type, random);
    }
    for (const Bytes& source : sources) pointers.push_back(source.data());
    out.resize(bytes);
    reduce_reference({.out = out.data(),
                      .sources = pointers,
                      .count = kCount,
                      .type = which.type,
                      .op = which.op,
                      .divisor = which.divisor});
  }

  std::vector<Bytes> sources;
  Bytes out;
};

template <class T>
void check_integer(const Case& which, const Run& run) {
  for (size_t i = 0; i < Run::kCount; ++i) {
    T expected = at<T>(run.sources[0].data(), i);
    for (size_t k = 1; k < which.sources; ++k) {
      expected = integer_result(which.op, expected, at<T>(run.sources[k].data(), i));
    }
    expected = wrap<T>(WideInt{expected} / which.divisor);
    CAPTURE(i, which.sources, which.divisor);
    REQUIRE(at<T>(run.out.data(), i) == expected);
  }
}

template <class T>
T float_chain(const Case& which, const std::vector<T>& operands) {
  T expected = operands[0];
  for (size_t k = 1; k < operands.size(); ++k) expected = float_result(which.op, expected, operands[k]);
  return static_cast<T>(static_cast<Wide<T>>(expected) / which.divisor);
}

template <class T>
void check_float(const Case& which, const Run& run) {
  for (size_t i = 0; i < Run::kCount; ++i) {
    std::vector<T> operands;
    operands.reserve(run.sources.size());
    for (const Bytes& source : run.sources) operands.push_back(at<T>(source.data(), i));
    const T expected = float_chain(which, operands), got = at<T>(run.out.data(), i);
    CAPTURE(i, got, expected, which.sources, which.divisor);
    REQUIRE(same_float(got, expected));
  }
}

template <class T>
void check_small_float(const Case& which, const Run& run, const SmallFloatTable& table) {
  for (size_t i = 0; i < Run::kCount; ++i) {
    std::vector<float> operands;
    operands.reserve(run.sources.size());
    for (const Bytes& source : run.sources) operands.push_back(table.value(at<T>(source.data(), i).bits));
    const float expected = float_chain(which, operands);
    const uint32_t got = at<T>(run.out.data(), i).bits;
    CAPTURE(i, got, expected, which.sources, which.divisor);
    if (std::isnan(expected)) {
      REQUIRE(table.is_nan(got));
    } else {
      REQUIRE(got == table.nearest(expected));
    }
  }
}

template <class Part>
std::complex<Part> complex_result(Reduction op, std::complex<Part> a, std::complex<Part> b) {
  const auto plus = [](Part x, Part y) { return float_result(Reduction::Sum, x, y); };
  const auto times = [](Part x, Part y) { return float_result(Reduction::Prod, x, y); };
  if (op != Reduction::Prod) return {plus(a.real(), b.real()), plus(a.imag(), b.imag())};
  return {plus(times(a.real(), b.real()), -times(a.imag(), b.imag())),
          plus(times(a.real(), b.imag()), times(a.imag(), b.real()))};
}

template <class Part>
void check_complex(const Case& which, const Run& run) {
  using T = std::complex<Part>;
  for (size_t i = 0; i < Run::kCount; ++i) {
    T expected = at<T>(run.sources[0].data(), i);
    for (size_t k = 1; k < which.sources; ++k) {
      expected = complex_result(which.op, expected, at<T>(run.sources[k].data(), i));
    }
    const Wide<Part> real = expected.real(), imaginary = expected.imag();
    const T got = at<T>(run.out.data(), i);
    CAPTURE(i, got, expected, which.sources, which.divisor);
    REQUIRE(same_float(got.real(), static_cast<Part>(real / which.divisor)));
    REQUIRE(same_float(got.imag(), static_cast<Part>(imaginary / which.divisor)));
  }
}

// Truth tables, written out.
bool truth(Reduction op, bool a, bool b) {
  switch (op) {
    case Reduction::Sum:
    case Reduction::Max:
    case Reduction::BitOr:
    case Reduction::LogicalOr: return a || b;
    case Reduction::BitXor:
    case Reduction::LogicalXor: return a != b;
    default: return a && b;
  }
}

void check_bool(const Case& which, const Run& run) {
  for (size_t i = 0; i < Run::kCount; ++i) {
    bool expected = run.sources[0][i] != 0;
    for (size_t k = 1; k < which.sources; ++k) expected = truth(which.op, expected, run.sources[k][i] != 0);
    CAPTURE(i, which.sources);
    REQUIRE(static_cast<int>(run.out[i]) == static_cast<int>(expected));
  }
}

template <class T>
void check_elements(const Case& which, const Run& run) {
  if constexpr (std::is_integral_v<T>) {
    check_integer<T>(which, run);
  } else if constexpr (std::is_floating_point_v<T>) {
    check_float<T>(which, run);
  } else if constexpr (SmallFloat<T>) {
    check_small_float<T>(which, run, small_float_table(which.type));
  } else if constexpr (std::is_same_v<T, Bool8>) {
    check_bool(which, run);
  } else {
    check_complex<typename T::value_type>(which, run);
  }
}

void check(const Case& which, std::mt19937_64& random) {
  const Run run(which, random);
  INFO(element_info(which.type).name << " " << reduction_name(which.op) << ", seed " << kSeed);
  switch (which.type) {
#define X(enumerator, constant, name, storage, kind) \
  case ElementType::enumerator: return check_elements<storage>(which, run);
    RONDO_ELEMENT_TYPES(X)
#undef X
  }
}

template <class T>
T reduce_one(ElementType type, Reduction op, std::vector<T> operands, ReduceArgs extra = {}) {
  std::vector<const void*> pointers;
  pointers.reserve(operands.size());
  for (const T& operand : operands) pointers.push_back(&operand);
  T out{};
  extra.out = &out;
  extra.sources = pointers;
  extra.count = 1;
  extra.type = type;
  extra.op = op;
  reduce_reference(extra);
  return out;
}

}  // namespace

TEST_CASE("the reference agrees with wider arithmetic for every type and operation") {
  std::mt19937_64 random(test::test_seed(kSeed));
  for (const ElementType type : all_types()) {
    for (const Reduction op : reductions_of(type)) {
      for (const size_t sources : {2UL, 3UL, 5UL, 9UL}) check({type, op, sources}, random);
    }
  }
}

TEST_CASE("the reference divides averages exactly, integers toward zero") {
  std::mt19937_64 random(test::test_seed(kSeed));
  for (const ElementType type : all_types()) {
    if (!reduction_takes(Reduction::Avg, type)) continue;
    for (const int divisor : {2, 3, 7, 64, 1000, 0x7FFFFFFF})
      check({type, Reduction::Avg, 3, divisor}, random);
  }
}

TEST_CASE("16-bit floats are rounded once, after the last source") {
  // Each addend alone is half of the last bit of 1 and would be lost to rounding.
  const auto half = [](float value) { return round_to<Float16>(value); };
  const float bit = std::ldexp(1.0F, -10);
  const Float16 sum =
      reduce_one<Float16>(ElementType::Float16, Reduction::Sum, {half(1), half(bit / 2), half(bit / 2)});
  REQUIRE(to_float(sum) == 1 + bit);
}

TEST_CASE("min and max give NaN if any operand is NaN, and order the zeros") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Reduction op : {Reduction::Min, Reduction::Max}) {
    REQUIRE(std::isnan(reduce_one<float>(ElementType::Float32, op, {nan, 1, 2})));
    REQUIRE(std::isnan(reduce_one<float>(ElementType::Float32, op, {1, nan, 2})));
    REQUIRE(std::isnan(reduce_one<float>(ElementType::Float32, op, {1, 2, -nan})));
    const bool minus = op == Reduction::Min;
    REQUIRE(std::signbit(reduce_one<float>(ElementType::Float32, op, {0.0F, -0.0F})) == minus);
    REQUIRE(std::signbit(reduce_one<float>(ElementType::Float32, op, {-0.0F, 0.0F})) == minus);
  }
}

TEST_CASE("every computed NaN is the same one") {
  const float infinity = std::numeric_limits<float>::infinity();
  const float payload = std::bit_cast<float>(0xFFC12345U);
  const auto bits = [](float a, float b) {
    return std::bit_cast<uint32_t>(reduce_one<float>(ElementType::Float32, Reduction::Sum, {a, b}));
  };
  REQUIRE(bits(infinity, -infinity) == 0x7FC00000U);
  REQUIRE(bits(payload, 1) == 0x7FC00000U);
  REQUIRE(bits(1, payload) == 0x7FC00000U);
}

TEST_CASE("float8_e4m3 saturates, float8_e5m2 overflows to infinity") {
  const Float8E4M3 large = round_to<Float8E4M3>(448);
  REQUIRE(to_float(reduce_one<Float8E4M3>(ElementType::Float8E4M3, Reduction::Sum, {large, large})) == 448);
  const Float8E5M2 larger = round_to<Float8E5M2>(57344);
  REQUIRE(std::isinf(
      to_float(reduce_one<Float8E5M2>(ElementType::Float8E5M2, Reduction::Sum, {larger, larger}))));
}

TEST_CASE("only the scaled source is multiplied, before it is added") {
  const int8_t factor = 3;
  const ReduceArgs scale_second{.scaled_source = 1, .scalar = &factor};
  REQUIRE(reduce_one<int8_t>(ElementType::Int8, Reduction::Sum, {5, 7, 1}, scale_second) == 5 + 3 * 7 + 1);
  const std::complex<float> turn{0, 1};
  const ReduceArgs scale_first{.scaled_source = 0, .scalar = &turn};
  const auto turned = reduce_one<std::complex<float>>(ElementType::Complex64, Reduction::Sum,
                                                      {{2, 3}, {10, 20}}, scale_first);
  REQUIRE(turned == std::complex<float>(10 - 3, 20 + 2));
}

TEST_CASE("a scaled product of 16-bit floats is not rounded before it is added") {
  const Float16 third = round_to<Float16>(1.0F / 3), x = round_to<Float16>(0.7F), y = round_to<Float16>(9);
  const ReduceArgs scale{.scaled_source = 0, .scalar = &third};
  const Float16 got = reduce_one<Float16>(ElementType::Float16, Reduction::Sum, {x, y}, scale);
  const double exact = static_cast<double>(to_float(x)) * to_float(third) + to_float(y);
  REQUIRE(got.bits == small_float_table(ElementType::Float16).nearest(static_cast<float>(exact)));
}

}  // namespace rondo
