// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "floats.h"
#include "random.h"

namespace rondo::perf {
namespace {

bool is_real(const TypeRow& type) { return type.kind == TypeClass::Float || type.kind == TypeClass::Complex; }

int bits_of(const TypeRow& type) {
  return type.kind == TypeClass::Bool ? 1 : static_cast<int>(8 * type.bytes);
}

uint64_t mask_of(const TypeRow& type) {
  return bits_of(type) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits_of(type)) - 1;
}

// The low bits of a result as a number of the type: truncated, then sign-extended.
uint64_t wrapped(const TypeRow& type, uint64_t bits) {
  bits &= mask_of(type);
  const bool negative = type.kind == TypeClass::Signed && (bits >> (bits_of(type) - 1)) != 0;
  return negative ? bits | ~mask_of(type) : bits;
}

std::vector<size_t> shuffled_ranks(int nranks, Random& random) {
  std::vector<size_t> order(static_cast<size_t>(nranks));
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// Whole numbers, one per rank, whose magnitudes add up to at most `budget`.
std::vector<int64_t> bounded_numbers(int nranks, int64_t budget, bool negative_too, Random& random) {
  std::vector<int64_t> numbers(static_cast<size_t>(nranks));
  const int64_t each = std::max<int64_t>(1, budget / nranks);
  for (size_t rank : shuffled_ranks(nranks, random)) {
    if (budget < each) break;
    const auto magnitude = static_cast<int64_t>(1 + random.below(static_cast<uint64_t>(each)));
    numbers[rank] = negative_too && random.below(2) == 0 ? -magnitude : magnitude;
    budget -= each;
  }
  return numbers;
}

// The largest number up to which the type represents every whole number (or a smaller power of two, if that
// is more than needed).
int64_t counts_up_to(const TypeRow& type) {
  if (is_real(type)) return int64_t{1} << std::min(type.format.mantissa_bits + 1, 50);
  const int value_bits = bits_of(type) - (type.kind == TypeClass::Signed ? 1 : 0);
  return (int64_t{1} << std::min(value_bits, 50)) - 1;
}

std::vector<Value> sum_inputs(const TypeRow& type, Op op, int nranks, Random& random) {
  const int64_t budget = counts_up_to(type) / (op == Op::MulSum ? 2 : 1);  // scalars have magnitude 2 at most
  const auto re = bounded_numbers(nranks, budget, true, random);
  // A scalar of i turns one part into the other, so both share the budget.
  const bool two_parts = type.kind == TypeClass::Complex;
  const auto im = bounded_numbers(nranks, two_parts ? budget : 1, true, random);
  std::vector<Value> values(re.size());
  for (size_t r = 0; r < re.size(); ++r)
    values[r].real = {static_cast<double>(re[r]), two_parts ? static_cast<double>(im[r]) : 0.0};
  return values;
}

// +-odd * 2^e: the product of the odd factors fits the mantissa, and the sum of the |e| is a few bits.
std::vector<Value> float_prod_inputs(const TypeRow& type, int nranks, Random& random) {
  const bool narrow = type.bytes <= 2;
  const int64_t odd_limit = (int64_t{1} << std::min(type.format.mantissa_bits + 1, 52)) - 1;
  int64_t odd_product = 1;
  int exponents_left = narrow ? 4 : 16;
  std::vector<Value> values(static_cast<size_t>(nranks));
  for (size_t rank : shuffled_ranks(nranks, random)) {
    auto factor = static_cast<int64_t>(1 + 2 * random.below(4));  // 1, 3, 5, 7
    if (factor > odd_limit / odd_product) factor = 1;
    odd_product *= factor;
    const int exponent = exponents_left > 0 ? static_cast<int>(random.below(3)) - 1 : 0;
    exponents_left -= std::abs(exponent);
    const double magnitude = std::ldexp(static_cast<double>(factor), exponent);
    values[rank].real = random.below(2) == 0 ? -magnitude : magnitude;
  }
  return values;
}

// Gaussian integers: units, times a few factors whose magnitudes multiply to at most half a mantissa.
std::vector<Value> complex_prod_inputs(const TypeRow& type, int nranks, Random& random) {
  static constexpr std::complex<double> units[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  static constexpr std::complex<double> factors[] = {{1, 0}, {1, 1}, {2, 1}, {1, -2}, {3, 2}};
  double norm_left = std::ldexp(1.0, type.format.mantissa_bits - 3);
  std::vector<Value> values(static_cast<size_t>(nranks));
  for (size_t rank : shuffled_ranks(nranks, random)) {
    std::complex<double> factor = factors[random.below(std::size(factors))];
    if (std::norm(factor) > norm_left) factor = factors[0];
    norm_left /= std::norm(factor);
    values[rank].real = factor * units[random.below(std::size(units))];
  }
  return values;
}

std::vector<Value> finite_inputs(const TypeRow& type, int nranks, Random& random) {
  std::vector<Value> values(static_cast<size_t>(nranks));
  for (Value& value : values) {
    uint64_t bits = 0;
    do {
      bits = random.next() & mask_of(type);
    } while (!is_finite(type.format, bits));
    value.real = decode_float(type.format, bits);
  }
  return values;
}

std::vector<Value> real_inputs(const TypeRow& type, Op op, int nranks, Random& random) {
  switch (op) {
    case Op::Prod:
      return type.kind == TypeClass::Complex ? complex_prod_inputs(type, nranks, random)
                                             : float_prod_inputs(type, nranks, random);
    case Op::Min:
    case Op::Max: return finite_inputs(type, nranks, random);
    default: return sum_inputs(type, op, nranks, random);
  }
}

// All bits are equal except, half of the time, those that a single rank changes, which `and` and `or` must
// not overlook.
std::vector<Value> decided_by_one(const TypeRow& type, bool ones, int nranks, Random& random) {
  std::vector<Value> values(static_cast<size_t>(nranks));
  for (Value& value : values) value.bits = ones ? mask_of(type) : 0;
  if (random.below(2) == 0) {
    Value& one = values[random.below(values.size())];
    one.bits ^= type.kind == TypeClass::Bool ? 1 : random.next() & mask_of(type);
  }
  return values;
}

// Logical operations get only 0 and 1: with other truth values the result of one operand is not defined.
std::vector<Value> truths(Op op, int nranks, Random& random) {
  static const TypeRow bool_type{0, "", "", 1, TypeClass::Bool, {}};
  if (op != Op::LogicalXor) return decided_by_one(bool_type, op == Op::LogicalAnd, nranks, random);
  std::vector<Value> values(static_cast<size_t>(nranks));
  for (Value& value : values) value.bits = random.below(2);
  return values;
}

// The meaning of numeric reductions for truth values.
Op on_bool(Op op) {
  switch (op) {
    case Op::Sum:
    case Op::Max:
    case Op::BitOr: return Op::LogicalOr;
    case Op::Prod:
    case Op::Min:
    case Op::BitAnd: return Op::LogicalAnd;
    case Op::BitXor: return Op::LogicalXor;
    default: return op;
  }
}

std::vector<Value> integer_inputs(const TypeRow& type, Op op, int nranks, Random& random) {
  if (op == Op::BitAnd || op == Op::BitOr) return decided_by_one(type, op == Op::BitAnd, nranks, random);
  std::vector<Value> values(static_cast<size_t>(nranks));
  if (op == Op::Avg) {
    const auto numbers = bounded_numbers(nranks, counts_up_to(type), type.kind == TypeClass::Signed, random);
    for (size_t r = 0; r < values.size(); ++r) values[r].bits = static_cast<uint64_t>(numbers[r]);
    return values;
  }
  for (Value& value : values) {
    value.bits = random.next();
    if (op == Op::Prod && random.below(8) != 0) value.bits |= 1;  // otherwise the product soon becomes 0
  }
  return values;
}

uint64_t combine_bits(const TypeRow& type, Op op, uint64_t a, uint64_t b) {
  const bool less =
      type.kind == TypeClass::Signed ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
  switch (op) {
    case Op::Prod: return a * b;
    case Op::Min: return less ? a : b;
    case Op::Max: return less ? b : a;
    case Op::BitAnd: return a & b;
    case Op::BitOr: return a | b;
    case Op::BitXor: return a ^ b;
    case Op::LogicalAnd: return a != 0 && b != 0;
    case Op::LogicalOr: return a != 0 || b != 0;
    case Op::LogicalXor: return (a != 0) != (b != 0);
    default: return a + b;
  }
}

std::complex<double> combine_reals(Op op, std::complex<double> a, std::complex<double> b) {
  const double x = a.real(), y = b.real();
  const bool less = x < y || (x == y && std::signbit(x) && !std::signbit(y));
  switch (op) {
    case Op::Prod: return {x * y - a.imag() * b.imag(), x * b.imag() + a.imag() * y};
    case Op::Min: return less ? a : b;
    case Op::Max: return less ? b : a;
    default: return a + b;
  }
}

// Divides in float for all types up to float, as the library promises; store() then rounds to the type.
double divided(const TypeRow& type, double sum, int nranks) {
  if (type.format.mantissa_bits > 23) return sum / nranks;
  return static_cast<double>(static_cast<float>(sum) / static_cast<float>(nranks));
}

Value averaged(const TypeRow& type, Value sum, int nranks) {
  if (is_real(type)) {
    sum.real = {divided(type, sum.real.real(), nranks), divided(type, sum.real.imag(), nranks)};
  } else if (type.kind == TypeClass::Signed) {
    sum.bits = static_cast<uint64_t>(static_cast<int64_t>(sum.bits) / nranks);
  } else {
    sum.bits /= static_cast<uint64_t>(nranks);
  }
  return sum;
}

}  // namespace

std::vector<Value> input_values(const TypeRow& type, Op op, int nranks, uint64_t seed) {
  Random random(seed);
  if (is_real(type)) return real_inputs(type, op, nranks, random);
  if (type.kind == TypeClass::Bool) op = on_bool(op);
  if (op >= Op::LogicalAnd && op <= Op::LogicalXor) return truths(op, nranks, random);
  std::vector<Value> values = integer_inputs(type, op, nranks, random);
  for (Value& value : values) value.bits = wrapped(type, value.bits);
  return values;
}

Value scalar_value(const TypeRow& type, int rank) {
  static constexpr std::complex<double> complex_scalars[] = {{1, 0}, {0, 1}, {-2, 0}, {0, 2}, {-1, 0}};
  static constexpr int scalars[] = {1, 2, -1, -2};
  Value value;
  const auto r = static_cast<size_t>(rank);
  if (type.kind == TypeClass::Complex) {
    value.real = complex_scalars[r % std::size(complex_scalars)];
  } else {
    value.real = scalars[r % std::size(scalars)];
    value.bits = wrapped(type, static_cast<uint64_t>(static_cast<int64_t>(scalars[r % std::size(scalars)])));
  }
  return value;
}

Value expected_value(const TypeRow& type, Op op, const std::vector<Value>& inputs, int first, int last,
                     int nranks) {
  if (type.kind == TypeClass::Bool) op = on_bool(op);
  Value result;
  for (int rank = first; rank <= last; ++rank) {
    Value operand = inputs[static_cast<size_t>(rank)];
    if (op == Op::MulSum) {
      const Value scalar = scalar_value(type, rank);
      operand.bits *= scalar.bits;
      operand.real = combine_reals(Op::Prod, operand.real, scalar.real);
    }
    if (rank == first) {
      result = operand;
    } else if (is_real(type)) {
      result.real = combine_reals(op, result.real, operand.real);
    } else {
      result.bits = wrapped(type, combine_bits(type, op, result.bits, operand.bits));
    }
  }
  if (op == Op::Avg) result = averaged(type, result, nranks);
  if (!is_real(type)) result.bits = wrapped(type, result.bits);
  return result;
}

void store(const TypeRow& type, const Value& value, void* out) {
  auto* bytes = static_cast<unsigned char*>(out);
  if (!is_real(type)) {
    std::memcpy(bytes, &value.bits, type.bytes);  // little-endian: the low bytes come first
    return;
  }
  const size_t part = type.kind == TypeClass::Complex ? type.bytes / 2 : type.bytes;
  const uint64_t re = encode_float(type.format, value.real.real());
  std::memcpy(bytes, &re, part);
  if (type.kind != TypeClass::Complex) return;
  const uint64_t im = encode_float(type.format, value.real.imag());
  std::memcpy(bytes + part, &im, part);
}

}  // namespace rondo::perf
