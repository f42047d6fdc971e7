// SPDX-License-Identifier: Apache-2.0
// A run of an MSCCL program with symbols for data: in which order its steps can go, where in a Schedule's
// terms each chunk is when a step takes it, and when a sum is complete. Pure function: any thread.
#pragma once

#include <vector>

#include "formats/msccl_xml.h"
#include "schedule/schedule.h"

namespace rondo {

/// One chunk of a step, or several that follow one another in all places.
struct MscclMove {
  int block = -1;  // of the GPU; -1: added at the end, to make an output of an input
  int step = 0;
  int receive = -1;  // the peer
  int send = -1;
  Ref src = {};
  Ref operand = {};  // another one to fold, in Scratch
  Ref dst = {};
  bool finish = false;
  bool reduces = false;  // folds what it receives with src
  int count = 1;
  int sent_by = -1;   // the index of the peer's move that sends what it receives; before moves are joined
  int taken_by = -1;  // of the peer's move that receives what it sends

  bool only_waits() const { return receive < 0 && send < 0 && dst.buffer == Buffer::None; }
};

struct MscclTrace {
  Chunks chunks;
  std::vector<std::vector<MscclMove>> gpus;  // in an order in which all can run
  std::vector<int> scratch_chunks;           // by GPU
};

/// In-place memory is Input until its GPU writes it. InvalidArgument, with file and line, if a step reads
/// what is not there, adds in a collective that does not, or never runs.
Result<MscclTrace> trace(const MscclProgram& program);

}  // namespace rondo
