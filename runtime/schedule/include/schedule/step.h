// SPDX-License-Identifier: Apache-2.0
// Step: one fused move of chunks, as the executors of host and device, the verifier and the simulator read
// it. Plain data: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo {

/// The memory that a Step reads or writes. Input and Output are the caller's; Scratch lasts one tile.
///
/// Blocks, n ranks:                        such as         input               output
///   no buffer holds a block per rank      all_reduce      1: the vector       1: the vector
///   the output does                       all_gather      1: own block        n: one from each rank
///   the input does                        reduce_scatter  n: one for each     1: own block
///   both do                               all_to_all      n: one for each     n: one from each rank
/// Each block consists of C parts, as the algorithm chooses: chunk b C + p is part p of block b.
/// Scratch chunk k is as long as chunk k modulo max(input chunks, output chunks) of the one with more chunks.
enum class Buffer : uint8_t { None, Input, Output, Scratch };

enum Verb : uint8_t {
  kRecv = 1,     // take one slot from every peer of the receive set
  kReduce = 2,   // combine, in the order of the receive set; the own rank in the set means the source
  kCopy = 4,     // write the value to the destination
  kSend = 8,     // send the value to every peer of the send set, one slot each
  kFinish = 16,  // the value is complete: apply the final step after the last operand (avg's division)
  kBefore = 32,  // the Step that it waits for is that of the tile before
};

/// A chunk of the own Scratch as a member of a receive set from which a Step reduces; the first one of a Step
/// that moves several chunks. Ranks are not negative.
constexpr int scratch_operand(int chunk) { return -1 - chunk; }
constexpr bool is_scratch_operand(int member) { return member < 0; }
constexpr int chunk_of_operand(int member) { return -1 - member; }

/// One fused move of `count` consecutive chunks:
///     value = kReduce ? fold of the receive set : kRecv ? the message of its one peer : source
///     if kFinish: value = finish(value)
///     if kCopy: destination = value
///     if kSend: a slot for every peer of the send set = value
/// A Step runs when all its slots are available (data to receive, room to send) and the Step that it waits
/// for is done; it takes all of them at once or none. Its length is that of its destination or, if it has
/// none, of its source. Source and destination may be the same memory, but must not otherwise overlap. A Step
/// may do nothing but wait.
///
/// What Steps may access: Input is never written. Output is written only at ranks that have a result, and
/// read only after this rank has written it. A reducing collective reads each rank's own operand only from
/// Input, which is where a pre-multiplied sum scales it; in place, that happens before the Output that shares
/// its memory is written.
struct Step {
  static constexpr uint16_t kNone = 0xffff;

  uint8_t verbs = 0;
  uint8_t buffers = 0;  // source in the low four bits, destination in the high four
  uint16_t count = 1;   // chunks
  uint16_t src_chunk = 0;
  uint16_t dst_chunk = 0;
  uint16_t recv_set = kNone;  // index into Schedule::peer_sets
  uint16_t send_set = kNone;
  uint16_t wait_lane = kNone;  // do not start before (wait_lane, wait_step) of this rank and tile is done
  uint16_t wait_step = 0;

  constexpr bool has(Verb verb) const { return (verbs & verb) != 0; }
  /// Whether, in `tile`, it still waits if the lane that it waits for is to do (lane_tile, lane_step) next.
  constexpr bool waits(size_t tile, size_t lane_tile, size_t lane_step) const {
    const size_t before = has(kBefore) ? 1 : 0;
    if (wait_lane == kNone || tile < before) return false;
    const size_t needed = tile - before;
    return lane_tile < needed || (lane_tile == needed && lane_step <= wait_step);
  }
  constexpr Buffer src() const { return static_cast<Buffer>(buffers & 15); }
  constexpr Buffer dst() const { return static_cast<Buffer>(buffers >> 4); }
  /// Whether its source is an operand, or the data that it moves.
  constexpr bool has_source() const { return src() != Buffer::None; }
};
static_assert(sizeof(Step) == 16);

}  // namespace rondo
