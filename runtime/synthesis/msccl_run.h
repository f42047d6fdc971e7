// SPDX-License-Identifier: Apache-2.0
// A run of an MSCCL program with symbols for data: in which order its steps can go, where in a Schedule's
// terms each chunk is when a step takes it, and when a sum is complete. Pure function: any thread.
#pragma once

#include <vector>

#include "base/error_kinds.h"
#include "formats/msccl_xml.h"
#include "schedule/schedule.h"

namespace rondo {

/// Chunks of a step that follow one another in all places.
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

  bool only_waits() const { return receive < 0 && send < 0 && dst.buffer == Buffer::None; }
};

/// Some of a move's chunks.
struct MscclPart {
  int gpu = 0;
  int move = 0;
  int first = 0;
};

/// Chunks that follow one another both in the move that sends them and in the one that receives them.
struct MscclLink {
  MscclPart sent;
  MscclPart taken;
  int count = 1;
};

struct MscclTrace {
  Chunks chunks;
  std::vector<std::vector<MscclMove>> gpus;  // in an order in which all can run
  std::vector<MscclLink> links;              // in the order in which they are taken
  std::vector<int> scratch_chunks;           // by GPU
};

constexpr size_t kMaxMoves = 130'000;  // of all GPUs
inline Status too_many_moves() {
  return error(ErrorKind::TooLargeToPlan,
               "more than {} chunks, or runs of chunks, that are moved: expected at most as many", kMaxMoves);
}

/// In-place memory is Input until its GPU writes it. InvalidArgument, with file and line, if a step reads
/// what is not there, adds in a collective that does not, or never runs; Unsupported if it has too many
/// moves.
Result<MscclTrace> trace(const MscclProgram& program);

}  // namespace rondo
