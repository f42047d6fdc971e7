// SPDX-License-Identifier: Apache-2.0
// What a device executes: a Schedule bound to one rank's connections, and one call of it. Plain data, written
// by the host and read by blocks; the device can dereference every pointer.
#pragma once

#include <type_traits>

#include "base/element.h"
#include "base/reduction.h"
#include "fold_list.h"
#include "lines.h"
#include "schedule/fifo_layout.h"
#include "schedule/layout.h"
#include "schedule/step.h"

namespace rondo::device {

inline constexpr int kMaxPeers = 64;  // in a peer set

/// A lane's connection with one peer, in one channel. Used by a single block.
struct LaneConnection {
  FifoLayout out;  // only Simple uses `headers`; for lines, slot_footprint() gives the slot size (lines.h)
  FifoLayout in;
  uint64_t sent = 0;      // messages, over all calls
  uint64_t received = 0;  // likewise
};

struct PeerSet {
  uint32_t first = 0;  // in BlockProgram::members
  uint32_t count = 0;
};
// In BlockProgram::members: this rank, and below it the chunks of its scratch.
inline constexpr int32_t kSelf = -1;
constexpr int32_t scratch_member(int chunk) { return kSelf - 1 - chunk; }
constexpr int scratch_chunk(int32_t member) { return kSelf - 1 - member; }

struct ProgramLane {
  const Step* steps = nullptr;
  uint32_t nsteps = 0;
  const PeerSet* peer_sets = nullptr;  // the Schedule's, by its indices
};

/// Channel c executes tiles c, c + channels, c + 2 * channels, ... of a call. Tiles are disjoint, so channels
/// are independent: each has its own connections and progress words.
struct BlockProgram {
  const ProgramLane* lanes = nullptr;
  uint32_t nlanes = 0;
  uint32_t channels = 1;
  Protocol protocol = Protocol::Simple;  // of all connections, at all ranks
  uint32_t scratch_chunks = 0;           // per channel
  const int32_t* members = nullptr;      // of peer sets: index k in `connections`, or the rank's own
  LaneConnection* const* connections =
      nullptr;  // [channel * nconnections + k]; Programs of a rank share them
  uint32_t nconnections = 0;
  uint64_t* progress = nullptr;  // [channel * nlanes + lane]: Steps done, over all calls
};

/// State shared by a rank's blocks and its host over all calls, in host memory that both access. A block or
/// the host sets `stop` on a failure, and it stays set: every wait polls it, and a block that sees it exits
/// at once. A hung call has blocks that started and do not finish. Only blocks of one device use add and
/// exchange, which are atomic among them even without PCIe atomics.
struct CallHealth {
  uint64_t started = 0;   // blocks, over all calls
  uint64_t finished = 0;  // likewise
  uint64_t stop = 0;
  uint64_t mismatch = 0;     // 1: the fields below are filled in
  uint64_t connection = 0;   // index in BlockProgram::connections of the message's connection
  uint64_t bytes = 0;        // received
  uint64_t expected = 0;     // bytes
  Signature signature = {};  // received
  uint64_t hashed = 0;       // 1: only its message_hash() was received: the protocol has no header
  uint64_t hash = 0;
};

struct CallParams {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;  // of all channels, consecutively
  Layout layout;
  ElementType type = ElementType::UInt8;  // UInt8 if nothing is combined, whatever the elements are
  uint32_t type_bytes = 1;                // size of `type`
  Reduction op = Reduction::Sum;
  int divisor = 1;  // of finished values: the number of ranks, for avg
  bool scales_input = false;
  Scalar scalar{};
  Signature signature;
  CallHealth* health = nullptr;
};

/// The calls of one launch: those of ranks that share a device. Copied at the launch, so that a CUDA graph
/// holds all of it; pointers lead to device-readable memory. Lane l of channel c in a call is block
/// first_block + c * lanes + l.
struct CallList {
  static constexpr uint32_t kMaxCalls = 8;

  struct ListedCall {
    const BlockProgram* program = nullptr;
    uint32_t first_block = 0;  // ascending: number of blocks of the preceding calls
    CallParams call;
  };
  uint32_t ncalls = 0;
  ListedCall calls[kMaxCalls];
};
static_assert(sizeof(CallList) <= 4096, "what a launch can take on every GPU");
static_assert(std::is_trivially_copyable_v<CallList>);

}  // namespace rondo::device
