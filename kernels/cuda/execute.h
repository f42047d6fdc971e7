// The device executor: a block carries out one lane of a Program for one call, in one channel, a Step at a
// time, as Run does on a host thread (runtime/exec/run.h). Device code.
#pragma once

#include "fold.h"
#include "program.h"

namespace rondo::device {

/// What the threads of a block share: where the slots of the Step at hand are, by member of its peer sets,
/// and the operands and results of the piece at hand.
struct Shared {
  const std::byte* received[kMostPeers];
  std::byte* slots[kMostPeers];
  const void* sources[kMostPeers];
  void* outs[kMostPeers + 1];
};

/// All threads of the block call it alike.
class LaneRun {
 public:
  RONDO_DEVICE LaneRun(const Program& program, uint32_t channel, uint32_t lane, const Call& call,
                       Block& block, Shared& shared)
      : program_(program),
        channel_(channel),
        lane_(program.lanes[lane]),
        connections_(program.connections + uint64_t{channel} * program.nconnections),
        progress_(program.progress + uint64_t{channel} * program.nlanes),
        own_progress_(progress_ + lane),
        call_(call),
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
    stopped_before_ = block_.thread() == 0 && stopped();
    uint64_t done = load_relaxed(own_progress_);
    rounds_ = done / lane_.nsteps;
    for (uint64_t tile = channel_; tile < call_.layout.tiles; tile += program_.channels, ++rounds_) {
      for (uint32_t i = 0; i < lane_.nsteps; ++i) {
        if (!run_step(lane_.steps[i], tile)) return;
        // Pairs with the acquire load in lane_is_there(); the barrier that ends a Step comes before it.
        if (block_.thread() == 0) store_release(Word::Progress, own_progress_, ++done);
      }
    }
  }

  /// False: the call is stopped.
  RONDO_DEVICE bool run_step(const Step& step, size_t tile) {
    const Place sizing =
        step.has(kCopy) ? Place{step.dst(), step.dst_chunk} : Place{step.src(), step.src_chunk};
    uint64_t bytes = 0;
    uint64_t elements = 0;
    for (int i = 0; i < step.count; ++i) {
      bytes += call_.layout.piece(tile, sizing.buffer, sizing.chunk + i).bytes;
      elements += call_.layout.elements(sizing.buffer, sizing.chunk + i);
    }
    const bool left_out = bytes == 0 && tile > 0;  // at the other end as well
    Signature signature = call_.signature;
    if (signature.varying != 0) signature.count = elements;

    bool stopped = stopped_before_ || !lane_is_there(step);
    if (!left_out) {
      const PeerSet receives = set_of(step, kRecv, step.recv_set);
      const PeerSet sends = set_of(step, kSend, step.send_set);
      for (uint32_t k = block_.thread(); k < receives.count; k += block_.threads())
        stopped |= !take(receives, k, bytes, signature);
      for (uint32_t k = block_.thread(); k < sends.count; k += block_.threads())
        stopped |= !find_room(sends, k);
    }
    if (left_out) return !block_.any(stopped);
    if (!compute(step, tile, stopped)) return false;
    hand_over(step, bytes, signature);
    block_.barrier();  // before the next Step looks at the same connections
    return true;
  }

  struct Place {
    Buffer buffer;
    int chunk;
  };

  RONDO_DEVICE PeerSet set_of(const Step& step, Verb verb, uint16_t index) const {
    return step.has(verb) ? lane_.peer_sets[index] : PeerSet{};
  }
  RONDO_DEVICE int32_t member(const PeerSet& set, uint32_t k) const {
    return program_.members[set.first + k];
  }

  RONDO_DEVICE bool stopped() const { return load_relaxed(&call_.health->stop) != 0; }

  /// Waits for the Step of another lane that this one depends on; false where the call is stopped.
  RONDO_DEVICE bool lane_is_there(const Step& step) {
    if (step.wait_lane == Step::kNone || block_.thread() != 0) return true;
    const uint64_t needed = rounds_ * program_.lanes[step.wait_lane].nsteps + step.wait_step + 1;
    // Pairs with the release store in run().
    while (load_acquire(Word::Progress, progress_ + step.wait_lane) < needed) {
      if (stopped()) return false;
      block_.pause();
    }
    return true;
  }

  /// Waits for the message of a member of the receive set, checks it and notes where it is.
  RONDO_DEVICE bool take(const PeerSet& set, uint32_t k, uint64_t bytes, const Signature& signature) {
    const int32_t index = member(set, k);
    if (index == kSelf) return true;
    const LaneConnection& connection = connections_[index];
    const FifoLayout& fifo = connection.in;
    const uint64_t slot = connection.received % fifo.slots;
    const SlotHeader& header = fifo.headers[slot];
    while (load_acquire(Word::Ready, &header.ready) != connection.received + 1) {  // pairs with send()
      if (stopped()) return false;
      block_.pause();
    }
    if (read(&header.bytes) != bytes || !same(read(&header.signature), signature)) {
      report(index, header, bytes);
      return false;
    }
    shared_.received[k] = fifo.memory + slot * fifo.stride_bytes;
    return true;
  }

  /// Waits until a member of the send set has room for a message, and notes where.
  RONDO_DEVICE bool find_room(const PeerSet& set, uint32_t k) {
    const LaneConnection& connection = connections_[member(set, k)];
    const FifoLayout& fifo = connection.out;
    // Pairs with the release store in give_back().
    while (connection.sent - load_acquire(Word::Released, &fifo.released->value) >= fifo.slots) {
      if (stopped()) return false;
      block_.pause();
    }
    shared_.slots[k] = fifo.memory + connection.sent % fifo.slots * fifo.stride_bytes;
    return true;
  }

  RONDO_DEVICE static bool same(const Signature& a, const Signature& b) {
    return a.count == b.count && a.plan == b.plan && a.sequence == b.sequence && a.type == b.type &&
           a.type_bytes == b.type_bytes && a.op == b.op && a.root == b.root && a.kind == b.kind &&
           a.varying == b.varying && a.on_gpu == b.on_gpu;
  }

  /// The first mismatch is kept. What comes after a failure means nothing: calls that were stopped leave
  /// messages behind.
  RONDO_DEVICE void report(int32_t connection, const SlotHeader& header, uint64_t expected) {
    CallHealth& health = *call_.health;
    if (!stopped() && exchange(&health.mismatch, 1) == 0) {
      write(&health.connection, static_cast<uint64_t>(connection));
      write(&health.bytes, read(&header.bytes));
      write(&health.expected, expected);
      write(&health.signature, read(&header.signature));
    }
    // Pairs with the host's acquire load, which then reads the rest.
    store_release(Word::Stop, &health.stop, 1);
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

  /// False, before anything is written, where a thread says that the call is stopped.
  RONDO_DEVICE bool compute(const Step& step, size_t tile, bool stopped) {
    bool all_there = false;
    uint64_t slot_offset = 0;
    for (int i = 0; i < step.count; ++i) {
      Piece src;
      Piece dst;
      if (step.src() != Buffer::None) src = call_.layout.piece(tile, step.src(), step.src_chunk + i);
      if (step.has(kCopy)) dst = call_.layout.piece(tile, step.dst(), step.dst_chunk + i);
      const uint64_t bytes = step.has(kCopy) ? dst.bytes : src.bytes;
      if (bytes == 0) continue;
      FoldTask task = task_of(step, bytes);
      point(step, task, address(step.src(), src.offset), address(step.dst(), dst.offset), slot_offset);
      if (block_.any(stopped)) return false;  // the pointers are there, and what they point to
      fold(task, {block_.thread(), block_.threads()});
      block_.barrier();  // all is read and written: pointers may change, slots go back and out
      slot_offset += bytes;
      all_there = true;
    }
    return all_there || !block_.any(stopped);
  }

  RONDO_DEVICE FoldTask task_of(const Step& step, uint64_t bytes) const {
    FoldTask task;
    task.sources = shared_.sources;
    task.outs = shared_.outs;
    task.count = bytes / call_.type_bytes;
    task.type = call_.type;
    task.op = call_.op;
    if (step.has(kFinish)) task.divisor = call_.divisor;
    task.scalars = &call_.scalar;
    task.scalar_step = 0;
    return task;
  }

  /// Lists operands in the order of the receive set, and results: the destination, then the slots.
  RONDO_DEVICE void point(const Step& step, FoldTask& task, const std::byte* src, std::byte* dst,
                          uint64_t slot_offset) const {
    const PeerSet receives = set_of(step, kRecv, step.recv_set);
    const PeerSet sends = set_of(step, kSend, step.send_set);
    const uint32_t stored = step.has(kCopy) ? 1 : 0;
    task.nsources = receives.count == 0 ? 1 : static_cast<int>(receives.count);
    task.nouts = static_cast<int>(stored + sends.count);
    const bool scales = call_.scales_input && step.src() == Buffer::Input;
    if (receives.count == 0) {
      if (scales) task.scaled = 1;
      if (block_.thread() == 0) shared_.sources[0] = src;
    }
    for (uint32_t k = 0; k < receives.count; ++k)
      if (scales && member(receives, k) == kSelf) task.scaled = uint64_t{1} << k;
    for (uint32_t k = block_.thread(); k < receives.count; k += block_.threads())
      shared_.sources[k] = member(receives, k) == kSelf ? src : shared_.received[k] + slot_offset;
    if (stored != 0 && block_.thread() == 0) shared_.outs[0] = dst;
    for (uint32_t k = block_.thread(); k < sends.count; k += block_.threads())
      shared_.outs[stored + k] = shared_.slots[k] + slot_offset;
  }

  /// Sends what was computed and gives the received slots back. A thread a peer.
  RONDO_DEVICE void hand_over(const Step& step, uint64_t bytes, const Signature& signature) {
    const PeerSet receives = set_of(step, kRecv, step.recv_set);
    const PeerSet sends = set_of(step, kSend, step.send_set);
    for (uint32_t k = block_.thread(); k < sends.count; k += block_.threads())
      send(connections_[member(sends, k)], bytes, signature);
    for (uint32_t k = block_.thread(); k < receives.count; k += block_.threads())
      if (member(receives, k) != kSelf) give_back(connections_[member(receives, k)]);
  }

  RONDO_DEVICE void send(LaneConnection& connection, uint64_t bytes, const Signature& signature) {
    SlotHeader& header = connection.out.headers[connection.sent % connection.out.slots];
    write(&header.bytes, bytes);
    write(&header.signature, signature);
    // Pairs with the acquire load in take(): with the barrier before it, it publishes what all threads wrote.
    store_release(Word::Ready, &header.ready, ++connection.sent);
  }

  RONDO_DEVICE void give_back(LaneConnection& connection) {
    // Pairs with the acquire load in find_room(): all threads have read the slot before the barrier.
    store_release(Word::Released, &connection.in.released->value, ++connection.received);
  }

  const Program& program_;
  uint32_t channel_;
  const ProgramLane& lane_;
  LaneConnection* connections_;  // the channel's
  uint64_t* progress_;           // likewise, by lane
  uint64_t* own_progress_;
  // Tiles that the channel has done, in all calls. Each lane has done all of them when a launch begins, so
  // its own word tells it those of all; a launch has no constant in it that a replay would find wrong.
  uint64_t rounds_ = 0;
  bool stopped_before_ = false;  // found set at the start; the block learns of it with the first Step's waits
  const Call& call_;
  std::byte* scratch_;  // the channel's
  Block& block_;
  Shared& shared_;
};

/// What block `index` of a launch does.
RONDO_DEVICE void execute(const CallList& list, uint32_t index, Block& block, Shared& shared) {
  uint32_t i = list.ncalls - 1;
  while (index < list.calls[i].first_block) --i;
  const CallList::Entry& entry = list.calls[i];
  const uint32_t lanes = entry.program->nlanes;
  const uint32_t place = index - entry.first_block;
  LaneRun(*entry.program, place / lanes, place % lanes, entry.call, block, shared).run();
}

}  // namespace rondo::device
