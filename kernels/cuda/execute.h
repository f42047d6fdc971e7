// The device executor: a block carries out one lane of a Program for one call, in one channel, a Step at a
// time, as Run does on a host thread (runtime/exec/run.h). Device code.
#pragma once

#include "fold.h"
#include "line_protocol.h"
#include "line_task.h"
#include "program.h"
#include "simple.h"

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

/// All threads of the block call it alike.
template <class P>
class LaneRun {
 public:
  RONDO_DEVICE LaneRun(const Program& program, uint32_t channel, uint32_t lane, const Call& call,
                       Block& block, Shared& shared)
      : program_(program),
        channel_(channel),
        lane_(program.lanes[lane]),
        first_connection_(uint64_t{channel} * program.nconnections),
        progress_(program.progress + uint64_t{channel} * program.nlanes),
        own_progress_(progress_ + lane),
        call_(call),
        call_hash_(call_hash(call.signature)),
        scratch_(call.scratch + uint64_t{channel} * program.scratch_chunks * call.layout.scratch_chunk_bytes),
        block_(block),
        shared_(shared) {}

  RONDO_DEVICE void run() {
    if (block_.thread() == 0) add(&call_.health->started, 1);
    if (lane_.nsteps != 0) run_tiles();
    if (block_.thread() == 0) add(&call_.health->finished, 1);
  }

 private:
  /// Returns early when the call is stopped.
  RONDO_DEVICE void run_tiles() {
    stopped_before_ = block_.thread() == 0 && is_stopped(*call_.health);
    uint64_t done = load_relaxed(own_progress_);
    rounds_ = done / lane_.nsteps;
    const bool is_waited_for = program_.nlanes > 1;  // by other lanes, or by none
    for (uint64_t tile = channel_; tile < call_.layout.tiles; tile += program_.channels, ++rounds_) {
      for (uint32_t i = 0; i < lane_.nsteps; ++i) {
        if (!run_step(lane_.steps[i], tile)) return;
        ++done;
        // Pairs with the acquire load in lane_is_there(); the barrier that ends a Step comes before it.
        if (is_waited_for && block_.thread() == 0) store_release(Word::Progress, own_progress_, done);
      }
    }
    if (!is_waited_for && block_.thread() == 0) write(own_progress_, done);
  }

  /// False: the call is stopped.
  RONDO_DEVICE bool run_step(const Step& step, uint64_t tile) {
    const Message message = message_of(step, tile);
    const bool left_out = message.bytes == 0 && tile > 0;  // at the other end as well
    const PeerSet receives = left_out ? PeerSet{} : set_of(step, kRecv, step.recv_set);
    const PeerSet sends = left_out ? PeerSet{} : set_of(step, kSend, step.send_set);

    bool stopped = stopped_before_ || !lane_is_there(step);
    for (uint32_t k = block_.thread(); k < sends.count; k += block_.threads())
      stopped |= !open(member(sends, k), k, message);
    for (uint32_t k = block_.thread(); k < receives.count; k += block_.threads())
      stopped |= !take(member(receives, k), k, message);
    if (left_out) return !block_.any(stopped);
    if (!compute(step, tile, receives, sends, stopped)) return false;
    for (uint32_t k = block_.thread(); k < sends.count; k += block_.threads())
      send(connection(member(sends, k)), message);
    for (uint32_t k = block_.thread(); k < receives.count; k += block_.threads())
      if (member(receives, k) != kSelf) give_back(connection(member(receives, k)));
    block_.barrier();  // before the next Step looks at the same connections
    return true;
  }

  /// What every peer of the Step sends or gets.
  RONDO_DEVICE Message message_of(const Step& step, uint64_t tile) const {
    const bool copies = step.has(kCopy);
    const Buffer buffer = copies ? step.dst() : step.src();
    const int chunk = copies ? step.dst_chunk : step.src_chunk;
    Message message{.signature = call_.signature};
    uint64_t elements = 0;
    for (int i = 0; i < step.count; ++i) {
      message.bytes += call_.layout.piece(tile, buffer, chunk + i).bytes;
      elements += call_.layout.elements(buffer, chunk + i);
    }
    if (call_.signature.varying != 0) message.signature.count = elements;
    message.hash = message_hash(call_hash_, message.signature.count, message.bytes);
    return message;
  }

  RONDO_DEVICE PeerSet set_of(const Step& step, Verb verb, uint16_t index) const {
    return step.has(verb) ? lane_.peer_sets[index] : PeerSet{};
  }
  RONDO_DEVICE int32_t member(const PeerSet& set, uint32_t k) const {
    return program_.members[set.first + k];
  }
  RONDO_DEVICE LaneConnection& connection(int32_t index) const {
    return program_.connections[first_connection_ + static_cast<uint64_t>(index)];
  }
  RONDO_DEVICE Wait wait() const { return {block_, *call_.health}; }

  /// Waits for the Step of another lane that this one depends on; false where the call is stopped.
  RONDO_DEVICE bool lane_is_there(const Step& step) {
    if (step.wait_lane == Step::kNone || block_.thread() != 0) return true;
    const uint64_t needed = rounds_ * program_.lanes[step.wait_lane].nsteps + step.wait_step + 1;
    Wait patience = wait();
    // Pairs with the release store in run_tiles().
    while (load_acquire(Word::Progress, progress_ + step.wait_lane) < needed)
      if (patience.stopped()) return false;
    return true;
  }

  /// Waits until a member of the send set has room for a message, and begins it.
  RONDO_DEVICE bool open(int32_t index, uint32_t k, const Message& message) {
    const LaneConnection& to = connection(index);
    const FifoLayout& fifo = to.out;
    Wait patience = wait();
    // Pairs with the store in give_back().
    while (to.sent - load_before_writes(&fifo.released->value) >= fifo.slots)
      if (patience.stopped()) return false;
    shared_.slots[k] = fifo.memory + to.sent % fifo.slots * fifo.stride_bytes + P::kBefore;
    shared_.out_flags[k] = P::flag(to.sent);
    P::open(to, message);
    return true;
  }

  /// Waits for the message of a member of the receive set and notes where it is.
  RONDO_DEVICE bool take(int32_t index, uint32_t k, const Message& message) {
    shared_.source_flags[k] = 0;
    if (index == kSelf) return true;
    const LaneConnection& from = connection(index);
    const FifoLayout& fifo = from.in;
    shared_.received[k] = fifo.memory + from.received % fifo.slots * fifo.stride_bytes + P::kBefore;
    shared_.source_flags[k] = P::flag(from.received);
    return P::take(from, first_connection_ + static_cast<uint64_t>(index), message, wait(), *call_.health);
  }

  RONDO_DEVICE void send(LaneConnection& to, const Message& message) {
    P::send(to, message);
    ++to.sent;
  }

  RONDO_DEVICE void give_back(LaneConnection& from) {
    // Pairs with the load in open(): all threads have read the slot before the barrier.
    store_after_reads(&from.in.released->value, ++from.received);
  }

  RONDO_DEVICE std::byte* address(Buffer buffer, size_t offset) const {
    switch (buffer) {
      case Buffer::Input: return const_cast<std::byte*>(call_.input) + offset;  // read only
      case Buffer::Output: return call_.output + offset;
      case Buffer::Scratch: return scratch_ + offset;
      case Buffer::None: break;
    }
    return nullptr;
  }

  /// False where a thread says that the call is stopped.
  RONDO_DEVICE bool compute(const Step& step, uint64_t tile, const PeerSet& receives, const PeerSet& sends,
                            bool stopped) {
    bool all_there = false;
    uint64_t slot_offset = 0;
    for (int i = 0; i < step.count; ++i) {
      Piece src;
      Piece dst;
      if (step.src() != Buffer::None) src = call_.layout.piece(tile, step.src(), step.src_chunk + i);
      if (step.has(kCopy)) dst = call_.layout.piece(tile, step.dst(), step.dst_chunk + i);
      const uint64_t bytes = step.has(kCopy) ? dst.bytes : src.bytes;
      if (bytes == 0) continue;
      FoldTask task = task_of(step, receives, sends, bytes);
      point(step, receives, sends, address(step.src(), src.offset), address(step.dst(), dst.offset),
            slot_offset);
      if (block_.any(stopped)) return false;  // the pointers are there, and what they point to
      const LineTask lines{P::kProtocol, shared_.source_flags, shared_.out_flags, call_.type_bytes,
                           &block_,      call_.health};
      if (P::kProtocol != Protocol::Simple) task.lines = &lines;
      stopped = !fold(task, {block_.thread(), block_.threads()});
      if (block_.any(stopped)) return false;  // all is read and written: pointers may change, slots go back
      slot_offset += piece_footprint(P::kProtocol, bytes, call_.type_bytes);
      all_there = true;
    }
    if (!all_there && block_.any(stopped)) return false;
    if (P::kProtocol == Protocol::LL) fill_slots(sends, slot_offset);
    return true;
  }

  RONDO_DEVICE FoldTask task_of(const Step& step, const PeerSet& receives, const PeerSet& sends,
                                uint64_t bytes) const {
    FoldTask task;
    task.sources = shared_.sources;
    task.nsources = receives.count == 0 ? 1 : static_cast<int>(receives.count);
    task.outs = shared_.outs;
    task.nouts = static_cast<int>(sends.count) + (step.has(kCopy) ? 1 : 0);
    task.count = bytes / call_.type_bytes;
    task.type = call_.type;
    task.op = call_.op;
    if (step.has(kFinish)) task.divisor = call_.divisor;
    if (call_.scales_input && step.src() == Buffer::Input) task.scaled = own_operand(receives);
    task.scalars = &call_.scalar;
    task.scalar_step = 0;
    return task;
  }

  /// The bit of the source that is the own rank's.
  RONDO_DEVICE uint64_t own_operand(const PeerSet& receives) const {
    if (receives.count == 0) return 1;
    for (uint32_t k = 0; k < receives.count; ++k)
      if (member(receives, k) == kSelf) return uint64_t{1} << k;
    return 0;
  }

  /// Lists operands in the order of the receive set, and results: the slots, then the destination.
  RONDO_DEVICE void point(const Step& step, const PeerSet& receives, const PeerSet& sends,
                          const std::byte* src, std::byte* dst, uint64_t slot_offset) const {
    for (uint32_t k = block_.thread(); k < receives.count; k += block_.threads())
      shared_.sources[k] = member(receives, k) == kSelf ? src : shared_.received[k] + slot_offset;
    for (uint32_t k = block_.thread(); k < sends.count; k += block_.threads())
      shared_.outs[k] = shared_.slots[k] + slot_offset;
    if (block_.thread() != 0) return;
    if (receives.count == 0) {
      shared_.sources[0] = src;
      shared_.source_flags[0] = 0;
    }
    if (step.has(kCopy)) {
      shared_.outs[sends.count] = dst;
      shared_.out_flags[sends.count] = 0;
    }
  }

  /// See fills_slot().
  RONDO_DEVICE void fill_slots(const PeerSet& sends, uint64_t used_bytes) const {
    for (uint32_t k = 0; k < sends.count; ++k) {
      const FifoLayout& fifo = connection(member(sends, k)).out;
      const auto flag = static_cast<uint32_t>(shared_.out_flags[k]);
      if (!fills_slot(flag, fifo.slots)) continue;
      auto* words = reinterpret_cast<Words*>(shared_.slots[k]);
      const uint64_t end = (fifo.stride_bytes - P::kBefore) / sizeof(Words);
      for (uint64_t i = used_bytes / sizeof(Words) + block_.thread(); i < end; i += block_.threads())
        store_words(words + i, {flagged(0, flag), flagged(0, flag)});
    }
  }

  const Program& program_;
  uint32_t channel_;
  const ProgramLane& lane_;
  uint64_t first_connection_;  // of the channel
  uint64_t* progress_;         // likewise, by lane
  uint64_t* own_progress_;
  const Call& call_;
  uint64_t call_hash_;
  std::byte* scratch_;  // the channel's
  Block& block_;
  Shared& shared_;
  // Tiles that the channel has done, in all calls. Each lane has done all of them when a launch begins, so
  // its own word tells it those of all; a launch has no constant in it that a replay would find wrong.
  uint64_t rounds_ = 0;
  bool stopped_before_ = false;  // found set at the start; the block learns of it with the first Step's waits
};

/// What block `index` of a launch does.
RONDO_DEVICE void execute(const CallList& list, uint32_t index, Block& block, Shared& shared) {
  uint32_t i = list.ncalls - 1;
  while (index < list.calls[i].first_block) --i;
  const CallList::Entry& entry = list.calls[i];
  const Program& program = *entry.program;
  const uint32_t channel = (index - entry.first_block) / program.nlanes;
  const uint32_t lane = (index - entry.first_block) % program.nlanes;
  switch (program.protocol) {
    case Protocol::Simple:
      return LaneRun<SimpleProtocol>(program, channel, lane, entry.call, block, shared).run();
    case Protocol::LL:
      return LaneRun<LineProtocol<Protocol::LL>>(program, channel, lane, entry.call, block, shared).run();
    case Protocol::LL128:
      return LaneRun<LineProtocol<Protocol::LL128>>(program, channel, lane, entry.call, block, shared).run();
  }
}

}  // namespace rondo::device
