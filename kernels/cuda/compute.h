// SPDX-License-Identifier: Apache-2.0
// Computation: a block's computation of one Step, chunk by chunk: folds received messages and this rank's
// memory into the destination and the outgoing slots. Device code.
#pragma once

#include "fold.h"
#include "line_task.h"
#include "work.h"

namespace rondo::device {

template <class P>
class Computation {
 public:
  RONDO_DEVICE Computation(const LaneWork& work, const StepAt& at) : work_(work), at_(at) {}

  /// Called by all threads of the block. `stopped`: whether this thread knows that the call was stopped.
  /// False if any thread does.
  RONDO_DEVICE bool run(bool stopped) {
    const Layout& layout = work_.call.layout;
    const Step& step = at_.step;
    bool any_bytes = false;
    uint64_t slot_offset = 0;
    for (int i = 0; i < step.count; ++i) {
      Piece src;
      Piece dst;
      if (step.src() != Buffer::None) src = layout.piece(at_.tile, step.src(), step.src_chunk + i);
      if (step.has(kCopy)) dst = layout.piece(at_.tile, step.dst(), step.dst_chunk + i);
      const uint64_t bytes = step.has(kCopy) ? dst.bytes : src.bytes;
      if (bytes == 0) continue;
      point(i, address(step.src(), src.offset), address(step.dst(), dst.offset), slot_offset);
      if (work_.block.any(stopped)) return false;  // barrier: pointers and their data are ready
      stopped = !fold_piece(bytes);
      if (work_.block.any(stopped)) return false;  // barrier: slots and pointers are no longer used
      slot_offset += piece_footprint(P::kProtocol, bytes, work_.call.type_bytes);
      any_bytes = true;
    }
    if (!any_bytes && work_.block.any(stopped)) return false;
    if (P::kProtocol == Protocol::LL) fill_slots(slot_offset);
    return true;
  }

 private:
  RONDO_DEVICE std::byte* address(Buffer buffer, size_t offset) const {
    switch (buffer) {
      case Buffer::Input: return const_cast<std::byte*>(work_.call.input) + offset;  // read only
      case Buffer::Output: return work_.call.output + offset;
      case Buffer::Scratch: return work_.scratch + offset;
      case Buffer::None: break;
    }
    return nullptr;
  }

  RONDO_DEVICE const std::byte* operand(uint32_t k, int index, const std::byte* src,
                                        uint64_t slot_offset) const {
    const int32_t member = work_.member(at_.receives, k);
    if (member >= 0) return work_.shared.received[k] + slot_offset;
    if (member == kSelf) return src;
    const Piece piece = work_.call.layout.piece(0, Buffer::Scratch, scratch_chunk(member) + index);
    return address(Buffer::Scratch, piece.offset);
  }

  /// Lists the operands of the Step's piece `index`, in the order of the receive set, and the results.
  RONDO_DEVICE void point(int index, const std::byte* src, std::byte* dst, uint64_t slot_offset) const {
    Shared& shared = work_.shared;
    const Block& block = work_.block;
    for (uint32_t k = block.thread(); k < at_.receives.count; k += block.threads())
      shared.sources[k] = operand(k, index, src, slot_offset);
    for (uint32_t k = block.thread(); k < at_.sends.count; k += block.threads())
      shared.outs[k] = shared.slots[k] + slot_offset;
    if (block.thread() != 0) return;
    if (at_.receives.count == 0) {
      shared.sources[0] = src;
      shared.source_flags[0] = 0;
    }
    if (at_.step.has(kCopy)) {
      shared.outs[at_.sends.count] = dst;
      shared.out_flags[at_.sends.count] = 0;
    }
  }

  /// False: the call was stopped before all lines had arrived.
  RONDO_DEVICE bool fold_piece(uint64_t bytes) const {
    const CallParams& call = work_.call;
    const Step& step = at_.step;
    FoldTask task;
    task.sources = work_.shared.sources;
    task.nsources = at_.receives.count == 0 ? 1 : static_cast<int>(at_.receives.count);
    task.outs = work_.shared.outs;
    task.nouts = static_cast<int>(at_.sends.count) + (step.has(kCopy) ? 1 : 0);
    task.count = bytes / call.type_bytes;
    task.type = call.type;
    task.op = call.op;
    if (step.has(kFinish)) task.divisor = call.divisor;
    if (call.scales_input && step.src() == Buffer::Input) task.scaled = own_operand();
    task.scalars = &call.scalar;
    task.scalar_step = 0;
    LineTask lines;
    lines.protocol = P::kProtocol;
    lines.source_flags = work_.shared.source_flags;
    lines.out_flags = work_.shared.out_flags;
    lines.type_bytes = call.type_bytes;
    lines.block = &work_.block;
    lines.health = call.health;
    if (P::kProtocol != Protocol::Simple) task.lines = &lines;
    return fold(task, {work_.block.thread(), work_.block.threads()});
  }

  /// Bit mask of the source that is this rank's own.
  RONDO_DEVICE uint64_t own_operand() const {
    if (at_.receives.count == 0) return 1;
    for (uint32_t k = 0; k < at_.receives.count; ++k)
      if (work_.member(at_.receives, k) == kSelf) return uint64_t{1} << k;
    return 0;
  }

  /// Fills the unused ends of slots when due: see fills_slot().
  RONDO_DEVICE void fill_slots(uint64_t used_bytes) const {
    for (uint32_t k = 0; k < at_.sends.count; ++k) {
      const FifoLayout& fifo = work_.connection(work_.member(at_.sends, k)).out;
      const auto flag = static_cast<uint32_t>(work_.shared.out_flags[k]);
      if (!fills_slot(flag, fifo.slots)) continue;
      auto* words = reinterpret_cast<Words*>(work_.shared.slots[k]);
      const uint64_t end = (fifo.stride_bytes - P::kBefore) / sizeof(Words);
      for (uint64_t i = used_bytes / sizeof(Words) + work_.block.thread(); i < end;
           i += work_.block.threads())
        store_words(words + i, {flagged(0, flag), flagged(0, flag)});
    }
  }

  const LaneWork& work_;
  const StepAt& at_;
};

}  // namespace rondo::device
