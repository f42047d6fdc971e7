// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"

#include <array>
#include <cmath>
#include <cstring>
#include <sstream>

namespace rondo::test {
namespace {

constexpr std::array<const char*, kOps> kOpNames{"sum",         "prod",       "min",        "max",
                                                 "avg",         "bit_and",    "bit_or",     "bit_xor",
                                                 "logical_and", "logical_or", "logical_xor"};

struct Number {
  long double re = 0;
  long double im = 0;
};

/// memcpy() of the size of an element or a part of it: a move, where a call would be a sanitizer's.
void copy_element(void* to, const void* from, size_t bytes) {
  switch (bytes) {
    case 1: std::memcpy(to, from, 1); break;
    case 2: std::memcpy(to, from, 2); break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, bytes);
  }
}

uint64_t load_bits(const std::byte* at, size_t bytes) {
  uint64_t bits = 0;
  copy_element(&bits, at, bytes);
  return bits;
}

/// Decodes a float of any format; infinities and NaNs do not occur here.
long double decode(uint64_t bits, const TypeRow& type) {
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  const uint64_t mantissa = bits & ((uint64_t{1} << type.mantissa_bits) - 1);
  const auto exponent = static_cast<int>((bits >> type.mantissa_bits) & ((1u << type.exponent_bits) - 1));
  const bool negative = ((bits >> (type.mantissa_bits + type.exponent_bits)) & 1) != 0;
  const uint64_t whole = exponent == 0 ? mantissa : mantissa | (uint64_t{1} << type.mantissa_bits);
  const long double value =
      std::ldexp(static_cast<long double>(whole), std::max(exponent, 1) - bias - type.mantissa_bits);
  return negative ? -value : value;
}

size_t part_bytes(const TypeRow& type) { return type.kind == Class::Complex ? type.bytes / 2 : type.bytes; }

Number number(const std::byte* at, const TypeRow& type) {
  Number read{decode(load_bits(at, part_bytes(type)), type), 0};
  if (type.kind == Class::Complex) read.im = decode(load_bits(at + part_bytes(type), part_bytes(type)), type);
  return read;
}

/// The bits of sign * 2^exponent * (1 + mantissa / 2^mantissa_bits).
uint64_t encode(const TypeRow& type, bool negative, int exponent, uint64_t mantissa) {
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  const uint64_t sign = negative ? 1 : 0;
  return (((sign << type.exponent_bits) | static_cast<uint64_t>(exponent + bias)) << type.mantissa_bits) |
         (mantissa & ((uint64_t{1} << type.mantissa_bits) - 1));
}

/// The factors of a product are powers of two, most of them 1, so that it is exact in every format.
uint64_t random_float(const TypeRow& type, rondo_op_t op, bool whole, uint64_t random, int rank) {
  const bool negative = (random & 1) != 0;
  if (op == RONDO_PROD) {
    const int exponent = rank % 3 == 0 ? static_cast<int>(random >> 8) % 3 - 1 : 0;
    return encode(type, negative, exponent, 0);
  }
  if (whole)
    return (random >> 4) % 3 == 0 ? 0 : encode(type, negative, static_cast<int>((random >> 8) % 2), 0);
  return encode(type, negative, static_cast<int>((random >> 8) % 5) - 2, random >> 12);
}

int64_t sign_extended(uint64_t bits, size_t bytes) {
  const int unused = 64 - static_cast<int>(bytes) * 8;
  return static_cast<int64_t>(bits << unused) >> unused;
}

uint64_t combine_integers(rondo_op_t op, uint64_t a, uint64_t b, const TypeRow& type) {
  const bool is_signed = type.kind == Class::Signed;
  const bool a_less = is_signed ? sign_extended(a, type.bytes) < sign_extended(b, type.bytes) : a < b;
  switch (op) {
    case RONDO_SUM:
    case RONDO_AVG: return a + b;
    case RONDO_PROD: return a * b;
    case RONDO_MIN: return a_less ? a : b;
    case RONDO_MAX: return a_less ? b : a;
    case RONDO_BIT_AND: return a & b;
    case RONDO_BIT_OR: return a | b;
    case RONDO_BIT_XOR: return a ^ b;
    case RONDO_LOGICAL_AND: return (a != 0 && b != 0) ? 1 : 0;
    case RONDO_LOGICAL_OR: return (a != 0 || b != 0) ? 1 : 0;
    default: return (a != 0) != (b != 0) ? 1 : 0;
  }
}

uint64_t truncated(uint64_t bits, size_t bytes) {
  return bytes == 8 ? bits : bits & ((uint64_t{1} << (8 * bytes)) - 1);
}

std::string judge_integer(rondo_op_t op, const TypeRow& type, std::span<const std::byte* const> operands,
                          const std::byte* result) {
  const bool logical = op >= RONDO_LOGICAL_AND;
  uint64_t expected = load_bits(operands[0], type.bytes);
  if (logical && operands.size() > 1) expected = expected != 0 ? 1 : 0;
  for (const std::byte* operand : operands.subspan(1))
    expected = truncated(combine_integers(op, expected, load_bits(operand, type.bytes), type), type.bytes);
  if (op == RONDO_AVG) {
    const auto n = static_cast<int64_t>(operands.size());
    expected = type.kind == Class::Signed ? static_cast<uint64_t>(sign_extended(expected, type.bytes) / n)
                                          : expected / static_cast<uint64_t>(n);
    expected = truncated(expected, type.bytes);
  }
  const uint64_t got = load_bits(result, type.bytes);
  if (got == expected) return {};
  return "is " + std::to_string(got) + " and should be " + std::to_string(expected) + " (as unsigned)";
}

/// For bool, sum and max mean "or"; product and min mean "and".
std::string judge_bool(rondo_op_t op, std::span<const std::byte* const> operands, const std::byte* result) {
  const bool all = op == RONDO_PROD || op == RONDO_MIN || op == RONDO_BIT_AND || op == RONDO_LOGICAL_AND;
  const bool odd = op == RONDO_BIT_XOR || op == RONDO_LOGICAL_XOR;
  size_t trues = 0;
  for (const std::byte* operand : operands) trues += *operand != std::byte{0} ? 1 : 0;
  const bool expected = all ? trues == operands.size() : odd ? trues % 2 == 1 : trues != 0;
  if (*result == std::byte{expected}) return {};
  return "is " + std::to_string(static_cast<int>(*result)) + " and should be " + std::to_string(expected);
}

struct Judgement {
  Number expected;
  long double bound = 0;
};

bool is_whole(long double value) { return value == std::floor(value); }

Judgement expect_sum(const TypeRow& type, std::span<const Number> values, bool average) {
  Judgement made;
  long double sizes = 0;
  bool whole = true;
  for (const Number& value : values) {
    made.expected.re += value.re;
    made.expected.im += value.im;
    sizes += std::max(std::fabs(value.re), std::fabs(value.im));
    whole = whole && is_whole(value.re) && is_whole(value.im);
  }
  const auto n = static_cast<long double>(values.size());
  const long double unit = std::ldexp(1.0L, -type.mantissa_bits - 1);
  const bool exact = whole && sizes <= std::ldexp(1.0L, type.mantissa_bits + 1);
  made.bound = exact ? 0 : n * unit * sizes;
  if (!average) return made;
  made.expected.re /= n;
  made.expected.im /= n;
  const int min_exponent = 2 - (1 << (type.exponent_bits - 1)) - type.mantissa_bits;
  made.bound = made.bound / n + 2 * unit * sizes / n + std::ldexp(1.0L, min_exponent);
  return made;
}

Judgement expect_float(rondo_op_t op, const TypeRow& type, std::span<const Number> values) {
  if (op == RONDO_SUM || op == RONDO_AVG) return expect_sum(type, values, op == RONDO_AVG);
  Judgement made{values[0], 0};
  for (const Number& b : values.subspan(1)) {
    const Number a = made.expected;
    if (op == RONDO_PROD) made.expected = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    if (op == RONDO_MIN) made.expected.re = std::min(a.re, b.re);
    if (op == RONDO_MAX) made.expected.re = std::max(a.re, b.re);
  }
  return made;
}

std::string judge_float(rondo_op_t op, const TypeRow& type, std::span<const std::byte* const> operands,
                        const std::byte* result) {
  std::array<Number, 64> values;
  for (size_t i = 0; i < operands.size(); ++i) values[i] = number(operands[i], type);
  const auto [expected, bound] = expect_float(op, type, std::span(values).first(operands.size()));
  const Number got = number(result, type);
  const long double off = std::max(std::fabs(got.re - expected.re), std::fabs(got.im - expected.im));
  if (off <= bound) return {};
  std::ostringstream text;
  text << "is " << got.re << " + " << got.im << "i and should be " << expected.re << " + " << expected.im
       << "i, give or take " << bound;
  return text.str();
}

}  // namespace

uint64_t mix(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t hash = a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu + c * 0x165667b19e3779f9u;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

const char* type_name(rondo_type_t type) { return type < kTypes ? type_row(type).name : "a user's type"; }
const char* op_name(rondo_op_t op) {
  return op < kOps ? kOpNames[static_cast<size_t>(op)] : "a user's operation";
}
size_t type_bytes(rondo_type_t type) { return type_row(type).bytes; }

bool op_takes(rondo_op_t op, rondo_type_t type) {
  const Class kind = type_row(type).kind;
  if (op == RONDO_SUM || op == RONDO_PROD) return true;
  if (op == RONDO_MIN || op == RONDO_MAX) return kind != Class::Complex;
  if (op == RONDO_AVG) return kind != Class::Bool;
  return kind == Class::Signed || kind == Class::Unsigned || kind == Class::Bool;
}

std::vector<std::byte> random_operands(rondo_type_t type, rondo_op_t op, uint64_t seed, int rank,
                                       size_t count) {
  const TypeRow& of = type_row(type);
  std::vector<std::byte> made(count * of.bytes);
  const size_t part = part_bytes(of);
  const bool whole = seed % 2 == 1;
  for (size_t i = 0; i < made.size() / part; ++i) {
    uint64_t bits = mix(seed, static_cast<uint64_t>(rank) + 1, i);
    if (of.is_rounded()) bits = random_float(of, op, whole, bits, rank);
    if (of.kind == Class::Bool) bits = (bits >> 7) % 8 != 0 ? 1 : 0;
    if (op == RONDO_LOGICAL_AND && of.kind != Class::Bool && (bits >> 9) % 8 == 0) bits = 0;
    copy_element(made.data() + i * part, &bits, part);
  }
  return made;
}

std::vector<std::byte> random_bytes(uint64_t seed, int rank, size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (size_t i = 0; i < bytes; i += 8) {
    const uint64_t random = mix(seed, static_cast<uint64_t>(rank) + 1, i);
    copy_element(made.data() + i, &random, std::min<size_t>(8, bytes - i));
  }
  return made;
}

std::string judge(rondo_type_t type, rondo_op_t op, std::span<const std::byte* const> operands,
                  const std::byte* result) {
  const TypeRow& of = type_row(type);
  if (of.kind == Class::Bool) return judge_bool(op, operands, result);
  if (of.is_rounded()) return judge_float(op, of, operands, result);
  return judge_integer(op, of, operands, result);
}

}  // namespace rondo::test
