// SPDX-License-Identifier: Apache-2.0
// The oracle: the expected result of a reduction, computed one element at a time in long double or 64-bit
// integers, by code that shares nothing with Rondo. Integers, minima, bitwise and logical operations must
// match exactly. Floating-point sums may be off by nranks * u * sum|x|, where u is half the distance from 1
// to the next float, and must be exact if all operands are small integers.
#pragma once

#include <rondo/rondo.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "type_rows.h"

namespace rondo::test {

/// A random number that depends only on its arguments.
uint64_t mix(uint64_t a, uint64_t b = 0, uint64_t c = 0);

inline constexpr int kTypes = kTypeRows.size();
inline const TypeRow& type_row(rondo_type_t type) { return kTypeRows[static_cast<size_t>(type)]; }
inline constexpr int kOps = RONDO_LOGICAL_XOR + 1;

const char* type_name(rondo_type_t type);
const char* op_name(rondo_op_t op);
size_t type_bytes(rondo_type_t type);  // built-in types
bool op_takes(rondo_op_t op, rondo_type_t type);

/// Random operands of a reduction. The result stays within the type's range for up to 16 ranks.
std::vector<std::byte> random_operands(rondo_type_t type, rondo_op_t op, uint64_t seed, int rank,
                                       size_t count);

/// Arbitrary bytes.
std::vector<std::byte> random_bytes(uint64_t seed, int rank, size_t bytes);

/// What is wrong with `result`, one element reduced from one operand per rank; empty if nothing is.
std::string judge(rondo_type_t type, rondo_op_t op, std::span<const std::byte* const> operands,
                  const std::byte* result);

}  // namespace rondo::test
