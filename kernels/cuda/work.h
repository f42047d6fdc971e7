// What a block works on: one lane of a Program for one call, in one channel. Device code.
#pragma once

#include "device.h"
#include "program.h"

namespace rondo::device {

/// What the threads of a block share: where the slots of the Step at hand are, by member of its peer sets,
/// and the operands and results of the piece at hand, with their flags where they are lines.
struct Shared {
  const std::byte* received[kMostPeers];
  std::byte* slots[kMostPeers];
  const void* sources[kMostPeers];
  void* outs[kMostPeers + 1];  // slots, then the destination
  uint64_t source_flags[kMostPeers];
  uint64_t out_flags[kMostPeers + 1];
};

struct Work {
  RONDO_DEVICE Work(const Program& of, uint32_t in_channel, uint32_t at_lane, const Call& for_call, Block& by,
                    Shared& with)
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

  /// A member of a peer set: a connection's index, or kSelf.
  RONDO_DEVICE int32_t member(const PeerSet& set, uint32_t k) const { return program.members[set.first + k]; }
  RONDO_DEVICE LaneConnection& connection(int32_t index) const {
    return *program.connections[first_connection + static_cast<uint64_t>(index)];
  }

  const Program& program;
  uint32_t channel;
  const ProgramLane& lane;
  uint64_t first_connection;  // of the channel
  uint64_t* progress;         // likewise, by lane
  uint64_t* own_progress;
  const Call& call;
  std::byte* scratch;  // the channel's
  Block& block;
  Shared& shared;
};

/// A Step in a tile, and the peers that it has to do with there.
struct StepAt {
  const Step& step;
  uint64_t tile;
  PeerSet receives;
  PeerSet sends;
};

}  // namespace rondo::device
