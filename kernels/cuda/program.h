// What a device executes: a Schedule bound to one rank's connections, and one call of it. Plain data that the
// host writes and blocks read; every pointer is one that the device can follow.
#pragma once

#include "base/element.h"
#include "base/reduction.h"
#include "fold_list.h"
#include "schedule/fifo_layout.h"
#include "schedule/layout.h"
#include "schedule/schedule.h"

namespace rondo::device {

inline constexpr int kMostPeers = 64;  // in a peer set

/// A lane's connection with one peer. A lane is carried out by one block, so nobody else touches it.
struct LaneConnection {
  FifoLayout out;
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
  uint64_t* progress = nullptr;        // Steps done, in all calls: what other lanes wait for
};

struct Program {
  const ProgramLane* lanes = nullptr;
  uint32_t nlanes = 0;
  const int32_t* members = nullptr;  // of peer sets: an index of `connections`, or kSelf
  LaneConnection* connections = nullptr;
};

/// What stops a call. `stop` is set by whoever comes upon a failure, the host among them, and read by every
/// wait.
struct CallHealth {
  uint64_t stop = 0;
  uint64_t mismatch = 0;     // 1: what follows is filled in
  uint64_t connection = 0;   // whose message it was
  uint64_t bytes = 0;        // that came
  uint64_t expected = 0;     // that should have
  Signature signature = {};  // that came
};

struct Call {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
  Layout layout;
  ElementType type = ElementType::UInt8;  // UInt8 where nothing is combined, whatever the elements are
  uint32_t type_bytes = 1;                // of `type`
  Reduction op = Reduction::Sum;
  int divisor = 1;  // of values that are finished: the ranks, for avg
  bool scales_input = false;
  Scalar scalar{};
  Signature signature;
  uint64_t tiles_before = 0;  // of all calls of this Program before: `progress` counts on
  CallHealth* health = nullptr;
};

/// What one block does: a lane of a rank's call. Ranks that share a device share a launch.
struct Job {
  const Program* program = nullptr;
  const Call* call = nullptr;
  uint32_t lane = 0;
};

/// What one launch does, a block a job. All that is pointed to is memory that the device can read.
struct JobList {
  const Job* jobs = nullptr;
};

}  // namespace rondo::device
