// SPDX-License-Identifier: Apache-2.0
// Element types and reductions under nccl-tests' names where it has one; Rondo's own names are accepted as
// well. Pure data: any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace rondo::perf {

enum class TypeClass { Signed, Unsigned, Float, Complex, Bool };

/// The arithmetic of a float, or of each half of a complex number.
struct FloatFormat {
  int exponent_bits = 0;
  int mantissa_bits = 0;     // without the hidden one
  bool has_infinity = true;  // false: the largest exponent also encodes numbers, as in e4m3
};

struct TypeRow {
  int id;                      // rondo_type_t
  std::string_view name;       // nccl-tests'
  std::string_view long_name;  // Rondo's
  size_t bytes;
  TypeClass kind;
  FloatFormat format;  // floats and complex numbers
};

/// A reduction. Ops have their own enum, since a pre-multiplied sum has no C API number until it is created.
enum class Op { Sum, Prod, Min, Max, Avg, BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, MulSum };

struct OpInfo {
  Op op;
  std::string_view name;
  std::string_view long_name;
};

std::span<const TypeRow> all_types();
std::span<const OpInfo> all_ops();
const TypeRow& type_info(int id);
const OpInfo& op_info(Op op);
const TypeRow* type_by_name(std::string_view name);
std::optional<Op> op_by_name(std::string_view name);

/// Whether the reduction is defined for the type.
bool op_takes(Op op, const TypeRow& type);

}  // namespace rondo::perf
