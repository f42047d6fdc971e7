// SPDX-License-Identifier: Apache-2.0
// A run of an MSCCL program with symbols for data: in which order its steps can go, where in a Schedule's
// terms each chunk is when a step takes it, and when a sum is complete. Pure function: any thread.
#pragma once

#include <vector>

#include "base/error_kinds.h"
#include "formats/msccl_xml.h"
#include "schedule/schedule.h"

namespace rondo {

/// Chunks of a step that follow one another in all places. Programs have up to kMaxMoves.
struct MscclMove {
  static constexpr uint16_t kAdded = 0xffff;

  uint16_t block = kAdded;  // of the GPU; kAdded: at the end, to make an output of an input
  uint16_t step = 0;
  uint16_t count = 1;
  bool receives : 1 = false;  // from the peer of its block
  bool sends : 1 = false;
  bool finish : 1 = false;
  bool reduces : 1 = false;  // folds what it receives with src
  bool folds : 1 = false;    // another operand, in Scratch
  Buffer src_buffer = Buffer::None;
  Buffer dst_buffer = Buffer::None;
  uint16_t src_chunk = 0;
  uint16_t dst_chunk = 0;
  uint16_t operand_chunk = 0;

  Ref src() const { return {src_buffer, src_chunk}; }
  Ref dst() const { return {dst_buffer, dst_chunk}; }
  Ref operand() const { return folds ? scratch(operand_chunk) : Ref{}; }
  void set_src(Ref at) {
    src_buffer = at.buffer;
    src_chunk = static_cast<uint16_t>(at.chunk);
  }
  void set_dst(Ref at) {
    dst_buffer = at.buffer;
    dst_chunk = static_cast<uint16_t>(at.chunk);
  }
  void set_operand(Ref at) {
    folds = at.buffer != Buffer::None;
    operand_chunk = static_cast<uint16_t>(at.chunk);
  }

  bool is_added() const { return block == kAdded; }
  bool only_waits() const { return !receives && !sends && dst_buffer == Buffer::None; }
};
static_assert(sizeof(MscclMove) == 16);

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
  std::vector<MscclLink> links;  // in the order in which they are taken; none where both ends are one chunk
  std::vector<int> scratch_chunks;  // by GPU
};

constexpr size_t kMaxMoves = 1'000'000;  // of all GPUs
inline Status too_many_moves() {
  return error(ErrorKind::TooLargeToPlan,
               "more than {} chunks, or runs of chunks, that are moved: expected at most as many", kMaxMoves);
}

/// In-place memory is Input until its GPU writes it. InvalidArgument, with file and line, if a step reads
/// what is not there, adds in a collective that does not, or never runs; Unsupported if it has too many
/// moves.
Result<MscclTrace> trace(const MscclProgram& program);

}  // namespace rondo
