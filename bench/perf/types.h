// Element types and reductions as the benchmark names them: nccl-tests' names where it has one, with Rondo's
// own accepted as well. Pure data: any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace rondo::perf {

enum class Kind { Signed, Unsigned, Float, Complex, Bool };

/// The arithmetic of a float, or of each half of a complex number.
struct FloatFormat {
  int exponent_bits = 0;
  int mantissa_bits = 0;     // without the hidden one
  bool has_infinity = true;  // false: the largest exponent holds numbers too, as in e4m3
};

struct Type {
  int id;                      // rondo_type_t
  std::string_view name;       // nccl-tests'
  std::string_view long_name;  // Rondo's
  size_t bytes;
  Kind kind;
  FloatFormat format;  // floats and complex numbers
};

/// A reduction. Pre-multiplied sum has no number in the C API before it is created, so ops have an enum here.
enum class Op { Sum, Prod, Min, Max, Avg, BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, MulSum };

struct OpInfo {
  Op op;
  std::string_view name;
  std::string_view long_name;
};

std::span<const Type> all_types();
std::span<const OpInfo> all_ops();
const Type& type_info(int id);
const OpInfo& op_info(Op op);
const Type* type_by_name(std::string_view name);
std::optional<Op> op_by_name(std::string_view name);

/// Whether the reduction is defined for the type.
bool op_takes(Op op, const Type& type);

}  // namespace rondo::perf
