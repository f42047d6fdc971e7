// SPDX-License-Identifier: Apache-2.0
// Elements: conversion of numbers of every NCCL type to bytes and back, without the library. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "nccl_abi.h"

namespace rondo::test {

struct Type {
  ncclDataType_t type;
  const char* name;
  size_t bytes;
  int exponent_bits;  // 0: an integer
  int mantissa_bits;
  double most;  // upper bound of exact sums and products of small numbers
};

const std::vector<Type>& all_types();

/// Numbers that the type represents exactly.
std::vector<std::byte> encode(const Type& type, const std::vector<double>& values);
std::vector<double> decode(const Type& type, const std::vector<std::byte>& bytes);

}  // namespace rondo::test
