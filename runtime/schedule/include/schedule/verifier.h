// The verifier: runs an algorithm symbolically over all ranks and proves that it is right.
//
// Buffers hold expressions instead of numbers. Slots are a bounded FIFO a connection and direction, as in the
// executors. Checked: every output chunk holds each rank's contribution exactly once, in rank order where the
// shape is not commutative, finished exactly once; nobody waits for ever at the given slot depth; no Step
// reads what was never written, writes where it must not (another rank's result, an input that is not the
// output), or races with another lane; nothing is left in a connection. Pure: any thread.
#pragma once

#include <vector>

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
};

/// Ok, or InternalError with a sentence: rank, lane, step, what is wrong. `ranks[r]` is rank r's schedule.
Status verify(const Shape& shape, const std::vector<Schedule>& ranks, const VerifyOptions& options = {});

/// The association of an output chunk of a rank, such as "((0+1)+(2+3))"; the schedules must verify.
std::string association(const Shape& shape, const std::vector<Schedule>& ranks, int rank, int output_chunk);

}  // namespace rondo
