// SPDX-License-Identifier: Apache-2.0
// Reductions: one row of RONDO_REDUCTIONS each, and the types that each supports. Pure data: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/element.h"

namespace rondo {

// X(enumerator, number in the C API, name)
#define RONDO_REDUCTIONS(X)       \
  X(Sum, 0, "sum")                \
  X(Prod, 1, "prod")              \
  X(Min, 2, "min")                \
  X(Max, 3, "max")                \
  X(Avg, 4, "avg")                \
  X(BitAnd, 5, "bit_and")         \
  X(BitOr, 6, "bit_or")           \
  X(BitXor, 7, "bit_xor")         \
  X(LogicalAnd, 8, "logical_and") \
  X(LogicalOr, 9, "logical_or")   \
  X(LogicalXor, 10, "logical_xor")

enum class Reduction : uint8_t {
#define X(enumerator, number, name) enumerator = number,
  RONDO_REDUCTIONS(X)
#undef X
};

inline constexpr int kReductions = 0
#define X(...) +1
    RONDO_REDUCTIONS(X)
#undef X
    ;

std::string_view reduction_name(Reduction reduction);

/// Whether the reduction is defined for the type: bitwise and logical ones on integers and bool, min and
/// max not on complex numbers, avg not on bool.
bool reduction_takes(Reduction reduction, ElementType type);

/// accumulator[i] = accumulator[i] (op) operand[i]; the C API's rondo_reduce_fn.
using ReduceFunction = void (*)(void* accumulator, const void* operand, size_t count, int type, void* user);

/// The reduction of a call: a built-in one, possibly with a scalar that multiplies every rank's input first,
/// or a user's function.
struct CallOp {
  uint32_t id = 0;                      // the C API's rondo_op_t
  Reduction built_in = Reduction::Sum;  // ignored if `function` is set
  ReduceFunction function = nullptr;
  void* user = nullptr;
  bool commutative = true;
  bool scales_input = false;              // pre-multiplied sum
  alignas(16) std::byte scalar[16] = {};  // one element, if scales_input

  static CallOp of(Reduction reduction) {
    CallOp op;
    op.id = static_cast<uint32_t>(reduction);
    op.built_in = reduction;
    return op;
  }
};

/// The order in which a result combines its operands, and where it rounds: together they determine its bits
/// if the reduction rounds at all. What is guaranteed about it, from weakest to strongest.
enum class Association : uint8_t {
  /// Each operand once, in any order and bracketing.
  Any,
  /// ((x0 + x1) + x2) + x3, in rank order; partial results are rounded to the type when passed on.
  RankOrder,
  /// The same in a single fold, rounded to the type only once, after the last operand and any final step.
  OneFold,
};

std::string_view association_name(Association association);

/// The weakest association that determines the result's bits. Any, if nothing rounds: integers, min and max,
/// bitwise and logical. If the accumulator is the type itself, each addition rounds, wherever it is done.
Association association_that_fixes_bits(const CallType& type, const CallOp& op);

}  // namespace rondo
