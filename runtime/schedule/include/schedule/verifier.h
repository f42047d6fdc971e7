// SPDX-License-Identifier: Apache-2.0
// The verifier: runs an algorithm symbolically over all ranks and proves it correct.
//
// Buffers hold expressions instead of numbers. Slots are a bounded FIFO per connection and direction, as in
// the executors. Checked: every output chunk holds each rank's contribution exactly once, in rank order if
// the shape is not commutative, finished exactly once; no deadlock at the given slot depth; no Step reads
// data that was never written, writes where it must not (another rank's result, an input that is not the
// output), or races with another lane; nothing is left in a connection. Optionally: that results have one
// association, regardless of the shape, so that their bits are always the same. Pure: any thread.
#pragma once

#include <vector>

#include "base/reduction.h"
#include "base/status.h"
#include "schedule/schedule.h"

namespace rondo {

struct VerifyOptions {
  int slots = 2;          // depth of each connection
  int tiles = 3;          // number of times the schedule is repeated
  bool in_place = false;  // input and output share memory as in InPlace
  /// If not 0, a seed: chunks of each length class then have bytes only in the first tiles, a random number
  /// of them; Steps without bytes are skipped from the second tile on, as in layout.h.
  uint32_t short_chunks = 0;
  Association association = Association::Any;  // required of the results
  bool limited = false;  // whether to give up where the order of all lanes takes too much time or memory
};

/// Ok, Unsupported if it gives up, or InternalError that names rank, lane, step and the fault. `ranks[r]` is
/// rank r's schedule.
Status verify(const Shape& shape, const std::vector<Schedule>& ranks, const VerifyOptions& options = {});

/// The association of an output chunk of a rank, such as "((0+1)+(2+3))"; the schedules must verify.
std::string association(const Shape& shape, const std::vector<Schedule>& ranks, int rank, int output_chunk);

/// How to print formulas for a given reduction.
struct FormulaStyle {
  bool roundings = true;  // show roundings to the type as r(...); false: each addition rounds
  int divisor = 1;        // by which the finished value is divided
};

/// How a rank's result is computed, such as "r((x0 + x1) + x2)", x0 being rank 0's operand. Long formulas
/// name only the first and last operands: "((x0 + x1) + x2) + ... + x63" continues the same way, and {x0 to
/// x15} are combined among themselves.
struct Formula {
  int rank = 0;
  int chunk = 0;  // of the operands
  std::string text;
  int roundings = 0;  // to the type, at most, that an operand goes through
};

/// The formulas of all results, by rank and chunk; the schedules must verify.
std::vector<Formula> formulas(const Shape& shape, const std::vector<Schedule>& ranks,
                              const FormulaStyle& style);

}  // namespace rondo
