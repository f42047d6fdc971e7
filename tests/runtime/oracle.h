// The oracle: what a reduction must come to, computed one element at a time in long double or 64-bit
// integers, by code that shares nothing with Rondo. Integers, minima, bit and logical operations must agree
// exactly. Sums of floats may be off by nranks * u * sum|x|, u being half the distance from 1 to the next
// float, and must be exact where all operands are small whole numbers.
#pragma once

#include <rondo/rondo.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rondo::test {

/// A random number that depends on nothing but its arguments.
uint64_t mix(uint64_t a, uint64_t b = 0, uint64_t c = 0);

inline constexpr int kTypes = RONDO_BOOL + 1;
inline constexpr int kOps = RONDO_LOGICAL_XOR + 1;

const char* type_name(rondo_type_t type);
const char* op_name(rondo_op_t op);
size_t type_bytes(rondo_type_t type);  // built-in types
bool op_takes(rondo_op_t op, rondo_type_t type);

/// Random operands of a reduction, whose result stays within the type's range for up to 16 ranks.
std::vector<std::byte> random_operands(rondo_type_t type, rondo_op_t op, uint64_t seed, int rank,
                                       size_t count);

/// Bytes without a meaning.
std::vector<std::byte> random_bytes(uint64_t seed, int rank, size_t bytes);

/// What is wrong with `result`, the reduction of one operand a rank, each an element; empty if nothing is.
std::string judge(rondo_type_t type, rondo_op_t op, std::span<const std::byte* const> operands,
                  const std::byte* result);

}  // namespace rondo::test
