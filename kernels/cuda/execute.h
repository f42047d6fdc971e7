// SPDX-License-Identifier: Apache-2.0
// The device executor: a block executes one lane of a BlockProgram for one call, in one channel, Step by
// Step, as StepExecutor does on a host thread (runtime/exec/step_executor.h). Device code.
#pragma once

#include "compute.h"
#include "line_protocol.h"
#include "peers.h"
#include "simple.h"

namespace rondo::device {

/// Called by all threads of the block.
template <class P>
class LaneRun {
 public:
  explicit RONDO_DEVICE LaneRun(const LaneWork& work)
      : work_(work), peers_(work), call_hash_(call_hash(work.call.signature)) {}

  RONDO_DEVICE void run() {
    CallHealth& health = *work_.call.health;
    if (work_.block.thread() == 0) add(&health.started, 1);
    if (work_.lane.nsteps != 0) run_tiles();
    if (work_.block.thread() == 0) add(&health.finished, 1);
  }

 private:
  /// Returns early if the call is stopped.
  RONDO_DEVICE void run_tiles() {
    const bool is_first = work_.block.thread() == 0;
    const bool is_waited_for = work_.program.nlanes > 1;  // by other lanes
    stopped_ = is_first && is_stopped(*work_.call.health);
    uint64_t done = is_first ? load_relaxed(work_.own_progress) : 0;
    rounds_ = done / work_.lane.nsteps;
    for (uint64_t tile = work_.channel; tile < work_.call.layout.tiles; tile += work_.program.channels) {
      for (uint32_t i = 0; i < work_.lane.nsteps; ++i) {
        if (!run_step(work_.lane.steps[i], tile)) return;
        ++done;
        // Pairs with the acquire load in lane_is_there(); the barrier at the end of a Step precedes it.
        if (is_waited_for && is_first && !stopped_) store_release(Word::Progress, work_.own_progress, done);
      }
      ++rounds_;
    }
    if (!is_waited_for && is_first) write(work_.own_progress, done);
  }

  /// False if the call is stopped.
  RONDO_DEVICE bool run_step(const Step& step, uint64_t tile) {
    const DeviceMessage message = message_of(step, tile);
    stopped_ |= !lane_is_there(step);
    if (message.bytes == 0 && tile > 0) return true;  // the other end skips it too
    const StepAt at{step, tile, set_of(step, kRecv, step.recv_set), set_of(step, kSend, step.send_set)};
    stopped_ |= !peers_.meet(at, message);
    if (!Computation<P>(work_, at).run(stopped_)) return false;
    peers_.part(at, message);
    work_.block.barrier();  // before the next Step uses the same connections
    return true;
  }

  /// The message that the Step exchanges with each of its peers.
  RONDO_DEVICE DeviceMessage message_of(const Step& step, uint64_t tile) const {
    const CallParams& call = work_.call;
    const bool copies = step.has(kCopy);
    const Buffer buffer = copies ? step.dst() : step.src();
    const int chunk = copies ? step.dst_chunk : step.src_chunk;
    DeviceMessage message{.signature = call.signature};
    uint64_t elements = 0;
    for (int i = 0; i < step.count; ++i) {
      message.bytes += call.layout.piece(tile, buffer, chunk + i).bytes;
      elements += call.layout.elements(buffer, chunk + i);
    }
    if (call.signature.varying != 0) message.signature.count = elements;
    message.hash = message_hash(call_hash_, message.signature.count, message.bytes);
    return message;
  }

  RONDO_DEVICE PeerSet set_of(const Step& step, Verb verb, uint16_t index) const {
    return step.has(verb) ? work_.lane.peer_sets[index] : PeerSet{};
  }

  /// Waits for the other lane's Step that this one depends on; false if the call is stopped.
  RONDO_DEVICE bool lane_is_there(const Step& step) const {
    if (step.wait_lane == Step::kNone || work_.block.thread() != 0) return true;
    const uint64_t before = step.has(kBefore) ? 1 : 0;
    if (rounds_ < before) return true;
    const uint64_t needed =
        (rounds_ - before) * work_.program.lanes[step.wait_lane].nsteps + step.wait_step + 1;
    Wait wait(work_.block, *work_.call.health);
    // Pairs with the release store in run_tiles().
    while (load_acquire(Word::Progress, work_.progress + step.wait_lane) < needed)
      if (wait.stopped()) return false;
    return true;
  }

  const LaneWork& work_;
  Peers<P> peers_;
  uint64_t call_hash_;
  // Tiles that the channel has finished, over all calls. At the start of a launch every lane has finished all
  // of them, so a lane's own progress word gives the count for all lanes, and a launch contains no constant
  // that a graph replay would find stale. Maintained only by the block's first thread.
  uint64_t rounds_ = 0;
  bool stopped_ = false;  // as far as this thread knows; each Computation agrees on it block-wide
};

/// The work of block `index` of a launch.
RONDO_DEVICE LaneWork work_of(const CallList& list, uint32_t index, Block& block, Shared& shared) {
  uint32_t i = list.ncalls - 1;
  while (index < list.calls[i].first_block) --i;
  const CallList::ListedCall& entry = list.calls[i];
  const BlockProgram& program = *entry.program;
  const uint32_t place = index - entry.first_block;
  return LaneWork(program, place / program.nlanes, place % program.nlanes, entry.call, block, shared);
}

/// Executes block `index` of a launch.
RONDO_DEVICE void execute(const CallList& list, uint32_t index, Block& block, Shared& shared) {
  const LaneWork work = work_of(list, index, block, shared);
  switch (work.program.protocol) {
    case Protocol::Simple: return LaneRun<SimpleProtocol>(work).run();
    case Protocol::LL: return LaneRun<LineProtocol<Protocol::LL>>(work).run();
    case Protocol::LL128: return LaneRun<LineProtocol<Protocol::LL128>>(work).run();
  }
}

}  // namespace rondo::device
