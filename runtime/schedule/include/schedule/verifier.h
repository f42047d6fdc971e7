// The verifier: runs an algorithm symbolically over all ranks and proves that it is right.
//
// Buffers hold expressions instead of numbers. Slots are a bounded FIFO a connection and direction, as in the
// executors. Checked: every output chunk holds each rank's contribution exactly once, in rank order where the
// shape is not commutative, finished exactly once; nobody waits for ever at the given slot depth; no Step
// reads what was never written, writes where it must not (another rank's result, an input that is not the
// output), or races with another lane; nothing is left in a connection. Where it is asked for: that results
// have one association, whatever the shape, so that their bits are always the same. Pure: any thread.
#pragma once

#include <vector>

#include "base/association.h"
#include "base/status.h"
#include "schedule/schedule.h"

namespace rondo {

struct VerifyOptions {
  int slots = 2;          // a connection's depth
  int tiles = 3;          // times that the schedule is repeated
  bool in_place = false;  // input and output share memory as InPlace says
  /// Not 0: a seed. Each chunk (of all that are equally long) then has bytes in the first tiles only, in how
  /// many is random; Steps without bytes are left out from the second tile on, as layout.h says.
  uint32_t short_chunks = 0;
  Association association = Association::Any;  // that results must have
};

/// Ok, or InternalError with a sentence: rank, lane, step, what is wrong. `ranks[r]` is rank r's schedule.
Status verify(const Shape& shape, const std::vector<Schedule>& ranks, const VerifyOptions& options = {});

/// The association of an output chunk of a rank, such as "((0+1)+(2+3))"; the schedules must verify.
std::string association(const Shape& shape, const std::vector<Schedule>& ranks, int rank, int output_chunk);

/// What of a formula concerns the reduction.
struct FormulaStyle {
  bool roundings = true;  // r(...) is rounded to the type; false: where each addition is
  int divisor = 1;        // that the finished value is divided by
};

/// How a rank's result comes about, such as "r((x0 + x1) + x2)", x0 being rank 0's operand. Of many operands
/// only the first and last are named: "((x0 + x1) + x2) + ... + x63" goes on as it begins, and {x0 to x15}
/// are combined among themselves.
struct Formula {
  int rank = 0;
  int chunk = 0;  // of the operands
  std::string text;
};

/// Of all results, by rank and chunk; the schedules must verify.
std::vector<Formula> formulas(const Shape& shape, const std::vector<Schedule>& ranks,
                              const FormulaStyle& style);

}  // namespace rondo
