// SPDX-License-Identifier: Apache-2.0
// A block's work: one lane of a BlockProgram for one call, in one channel. Device code.
#pragma once

#include "device.h"
#include "program.h"

namespace rondo::device {

/// Shared by a block's threads: the current Step's slots, by peer-set member, and the current piece's
/// operands and results, with flags for those that are lines.
struct Shared {
  const std::byte* received[kMaxPeers];
  std::byte* slots[kMaxPeers];
  const void* sources[kMaxPeers];
  void* outs[kMaxPeers + 1];  // slots, then the destination
  uint64_t source_flags[kMaxPeers];
  uint64_t out_flags[kMaxPeers + 1];
};

struct LaneWork {
  RONDO_DEVICE LaneWork(const BlockProgram& of, uint32_t in_channel, uint32_t at_lane,
                        const CallParams& for_call, Block& by, Shared& with)
      : program(of),
        channel(in_channel),
        lane(of.lanes[at_lane]),
        first_connection(uint64_t{in_channel} * of.nconnections),
        progress(of.progress + uint64_t{in_channel} * of.nlanes),
        own_progress(progress + at_lane),
        call(for_call),
        scratch(for_call.scratch +
                uint64_t{in_channel} * of.scratch_chunks * for_call.layout.scratch_chunk_bytes),
        block(by),
        shared(with) {}

  /// A member of a peer set: a connection's index or, if negative, memory of the rank itself.
  RONDO_DEVICE int32_t member(const PeerSet& set, uint32_t k) const { return program.members[set.first + k]; }
  RONDO_DEVICE LaneConnection& connection(int32_t index) const {
    return *program.connections[first_connection + static_cast<uint64_t>(index)];
  }

  const BlockProgram& program;
  uint32_t channel;
  const ProgramLane& lane;
  uint64_t first_connection;  // the channel's
  uint64_t* progress;         // the channel's, by lane
  uint64_t* own_progress;
  const CallParams& call;
  std::byte* scratch;  // the channel's
  Block& block;
  Shared& shared;
};

/// A Step in a tile, and its peers there.
struct StepAt {
  const Step& step;
  uint64_t tile;
  PeerSet receives;
  PeerSet sends;
};

}  // namespace rondo::device
