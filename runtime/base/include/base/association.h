// SPDX-License-Identifier: Apache-2.0
// Association: the order in which a result combines its operands, and where it rounds. Together they
// determine its bits if the reduction rounds at all. Pure: any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/element.h"
#include "base/reduction.h"

namespace rondo {

/// What is guaranteed about the order, from weakest to strongest.
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
