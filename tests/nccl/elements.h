// Elements: numbers of every type of NCCL's, in bytes and back, by arithmetic of this test's own. Pure
// functions.
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
  double most;  // that sums and products of small numbers may come to, and still be exact
};

const std::vector<Type>& all_types();

/// Numbers that the type has exactly.
std::vector<std::byte> encode(const Type& type, const std::vector<double>& values);
std::vector<double> decode(const Type& type, const std::vector<std::byte>& bytes);

}  // namespace rondo::test
