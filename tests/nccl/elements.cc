// SPDX-License-Identifier: Apache-2.0
#include "elements.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace rondo::test {
namespace {

uint64_t float_bits(const Type& type, double value) {
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  const uint64_t sign = std::signbit(value) ? 1 : 0;
  uint64_t rest = 0;
  if (value != 0) {
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent) * 2 - 1;  // of 1.fraction
    const auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, type.mantissa_bits));
    rest = (static_cast<uint64_t>(exponent - 1 + bias) << type.mantissa_bits) | mantissa;
  }
  return (sign << (type.bytes * 8 - 1)) | rest;
}

double float_value(const Type& type, uint64_t bits) {
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  const uint64_t mantissa = bits & ((uint64_t{1} << type.mantissa_bits) - 1);
  const auto exponent =
      static_cast<int>((bits >> type.mantissa_bits) & ((uint64_t{1} << type.exponent_bits) - 1));
  const double sign = (bits >> (type.bytes * 8 - 1)) != 0 ? -1 : 1;
  const double fraction = std::ldexp(static_cast<double>(mantissa), -type.mantissa_bits);
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
}

}  // namespace

const std::vector<Type>& all_types() {
  static const std::vector<Type> types = {
      {ncclInt8, "int8", 1, 0, 0, 120},          {ncclUint8, "uint8", 1, 0, 0, 250},
      {ncclInt32, "int32", 4, 0, 0, 1e9},        {ncclUint32, "uint32", 4, 0, 0, 1e9},
      {ncclInt64, "int64", 8, 0, 0, 1e15},       {ncclUint64, "uint64", 8, 0, 0, 1e15},
      {ncclFloat16, "float16", 2, 5, 10, 2048},  {ncclFloat32, "float32", 4, 8, 23, 1e7},
      {ncclFloat64, "float64", 8, 11, 52, 1e15}, {ncclBfloat16, "bfloat16", 2, 8, 7, 256},
      {ncclFloat8e4m3, "e4m3", 1, 4, 3, 16},     {ncclFloat8e5m2, "e5m2", 1, 5, 2, 8}};
  return types;
}

std::vector<std::byte> encode(const Type& type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * type.bytes);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t bits = type.exponent_bits == 0 ? static_cast<uint64_t>(static_cast<int64_t>(values[i]))
                                                  : float_bits(type, values[i]);
    std::memcpy(&bytes[i * type.bytes], &bits, type.bytes);  // little-endian
  }
  return bytes;
}

std::vector<double> decode(const Type& type, const std::vector<std::byte>& bytes) {
  std::vector<double> values(bytes.size() / type.bytes);
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[i * type.bytes], type.bytes);
    values[i] =
        type.exponent_bits == 0 ? static_cast<double>(bits) : float_value(type, bits);  // not negative
  }
  return values;
}

}  // namespace rondo::test
