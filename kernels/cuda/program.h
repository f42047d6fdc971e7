// What a device executes: a Schedule bound to one rank's connections, and one call of it. Plain data that the
// host writes and blocks read; every pointer is one that the device can follow.
#pragma once

#include <type_traits>

#include "base/element.h"
#include "base/reduction.h"
#include "fold_list.h"
#include "lines.h"
#include "schedule/fifo_layout.h"
#include "schedule/layout.h"
#include "schedule/schedule.h"

namespace rondo::device {

inline constexpr int kMostPeers = 64;  // in a peer set

/// A lane's connection with one peer, in one channel. One block carries that out, so nobody else touches it.
struct LaneConnection {
  FifoLayout out;  // `headers` are Simple's alone; slots of lines are as slot_footprint() says (lines.h)
  FifoLayout in;
  uint64_t sent = 0;      // messages, in all calls
  uint64_t received = 0;  // likewise
};

struct PeerSet {
  uint32_t first = 0;  // in Program::members
  uint32_t count = 0;
};
inline constexpr int32_t kSelf = -1;  // of Program::members: the own rank

struct ProgramLane {
  const Step* steps = nullptr;
  uint32_t nsteps = 0;
  const PeerSet* peer_sets = nullptr;  // the Schedule's, by its indices
};

/// Channel c carries out tiles c, c + channels, c + 2 * channels, ... of a call. Tiles are disjoint, so
/// channels need nothing of one another: each has connections and progress words of its own.
struct Program {
  const ProgramLane* lanes = nullptr;
  uint32_t nlanes = 0;
  uint32_t channels = 1;
  Protocol protocol = Protocol::Simple;   // of all connections, at all ranks
  uint32_t scratch_chunks = 0;            // of a channel
  const int32_t* members = nullptr;              // of peer sets: k of `connections`, or kSelf
  LaneConnection* const* connections = nullptr;  // [channel * nconnections + k]; Programs of a rank share them
  uint32_t nconnections = 0;
  uint64_t* progress = nullptr;  // [channel * nlanes + lane]: Steps done, in all calls
};

/// What a rank's blocks and its host tell one another, in all calls; in memory of the host that both reach.
/// `stop` is set by whoever comes upon a failure, the host among them, and stays: every wait reads it, and a
/// block that finds it set ends at once. A call that hangs has blocks that started and do not finish. Blocks
/// of one device alone add and exchange, which is atomic among them even where PCIe has no atomics.
struct CallHealth {
  uint64_t started = 0;   // blocks, in all calls
  uint64_t finished = 0;  // likewise
  uint64_t stop = 0;
  uint64_t mismatch = 0;     // 1: what follows is filled in
  uint64_t connection = 0;   // whose message it was: its index in Program::connections
  uint64_t bytes = 0;        // that came
  uint64_t expected = 0;     // that should have
  Signature signature = {};  // that came
  uint64_t hashed = 0;       // 1: only the message_hash() of it came, since the protocol has no header
  uint64_t hash = 0;
};

struct Call {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;  // of all channels, one after the other
  Layout layout;
  ElementType type = ElementType::UInt8;  // UInt8 where nothing is combined, whatever the elements are
  uint32_t type_bytes = 1;                // of `type`
  Reduction op = Reduction::Sum;
  int divisor = 1;  // of values that are finished: the ranks, for avg
  bool scales_input = false;
  Scalar scalar{};
  Signature signature;
  CallHealth* health = nullptr;
};

/// What one launch does: the calls of ranks that share a device. Copied at the launch, so that a CUDA graph
/// holds all of it; what it points to is memory that the device can read. A call has a block for each lane of
/// each channel: first_block + channel * lanes + lane.
struct CallList {
  static constexpr uint32_t kMostCalls = 8;

  struct Entry {
    const Program* program = nullptr;
    uint32_t first_block = 0;  // ascending: those of the calls before
    Call call;
  };
  uint32_t ncalls = 0;
  Entry calls[kMostCalls];
};
static_assert(sizeof(CallList) <= 4096, "what a launch can take on every GPU");
static_assert(std::is_trivially_copyable_v<CallList>);

}  // namespace rondo::device
