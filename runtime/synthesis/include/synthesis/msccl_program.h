// SPDX-License-Identifier: Apache-2.0
// Schedules as MSCCL programs: the way back from msccl_schedules.h. Pure functions: any thread.
//
// A lane becomes thread blocks, one for each connection or, where a Step only passes data on, for the two
// that it uses. Its Steps become steps of one chain, each of which waits for the one before if that is in
// another block, so everything happens in the order of the lane:
//
//   recv 3 + input[0] -> output[0], send 1 2        block (recv 3, send 1):  rrcs i0 o0
//                                                   block (send 2):          s o0, after that
//   recv 1 + recv 2 + input[0] -> output[0]         block (recv 1):          rrc i0 o0
//                                                   block (recv 2):          rrc o0 o0, after that
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "schedule/schedule.h"

namespace rondo {

/// The text of MSCCL's XML, which msccl_program_from_xml() reads, for calls whose reduction is commutative:
/// sums are rounded after each operand, and may be in another order. Unsupported, with rank, lane and step
/// where one is the reason: another collective than MSCCL's, fewer than two ranks, operands in rank order,
/// lengths that vary, waits for the tile before, steps of more than 71 chunks, and what is too large for such
/// a file.
Result<std::string> msccl_text_of(const Shape& shape, const std::vector<Schedule>& ranks, std::string name);

}  // namespace rondo
