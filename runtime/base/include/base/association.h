// Association: in what order a result combines its operands, and where it is rounded on the way. The two fix
// its bits, as far as the reduction is one that rounds. Pure: any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/element.h"
#include "base/reduction.h"

namespace rondo {

/// What is sure of the order, each more than the one before.
enum class Association : uint8_t {
  /// Each operand once, in whatever order and brackets.
  Any,
  /// ((x0 + x1) + x2) + x3, in the order of the ranks; what is passed on is rounded to the type.
  RankOrder,
  /// The same in one fold, which is rounded to the type once, after what comes after the last operand.
  OneFold,
};

std::string_view association_name(Association association);

/// What fixes the bits of such a reduction. Whatever does not round needs nothing: integers, min and max,
/// bits and truth values. Where the accumulator is the type itself each addition rounds, wherever it is done.
Association association_that_fixes_bits(const CallType& type, const CallOp& op);

}  // namespace rondo
