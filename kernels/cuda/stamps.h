// SPDX-License-Identifier: Apache-2.0
// Writes and checks stamps, in the kernels that produce and consume data passed between ranks. Device code.
#pragma once

#include "device.h"
#include "fold_list.h"

namespace rondo::device {

/// Whether two ranks make the same call. Ignores sequence numbers, which differ if a graph replays the call.
RONDO_DEVICE bool same_call(const Signature& a, const Signature& b) {
  return a.count == b.count && a.plan == b.plan && a.type == b.type && a.type_bytes == b.type_bytes &&
         a.op == b.op && a.root == b.root && a.kind == b.kind && a.varying == b.varying;
}

RONDO_DEVICE void write_note(MismatchNote& note, const Stamp& stamp, const Signature& own) {
  if (load_relaxed(&note.noted) != 0) return;
  write(&note.peer, read(&stamp.rank));
  write(&note.own, own);
  write(&note.found, read(&stamp.signature));
  store_release(Word::Stop, &note.noted, 1);  // pairs with the host's acquire load
}

/// One stamp of a list, with this rank's signature for it and the index of its pointer.
struct StampAt {
  RONDO_DEVICE StampAt(const FoldList& list, uint32_t k)
      : stamp(*list.stamps.entries[k].stamp), own(list.stamps.signature), pointer(list.stamps.pointers[k]) {
    own.count = list.stamps.entries[k].count;
  }
  RONDO_DEVICE bool has_pointer() const { return pointer != StampList::kNoPointer; }

  Stamp& stamp;
  Signature own;
  uint32_t pointer;
};

RONDO_DEVICE void write_stamps(const FoldList& list, const Block& block) {
  for (uint32_t k = block.thread(); k < list.stamps.nstamps; k += block.threads()) {
    const StampAt at(list, k);
    write(&at.stamp.signature, at.own);
    write(&at.stamp.rank, list.stamps.rank);
    write(&at.stamp.data, at.has_pointer() ? bits_as<uint64_t>(list.pointers[at.pointer]) : uint64_t{0});
  }
}

/// Checks that all peers make the same call, and redirects pointers to data that a peer has not staged.
RONDO_DEVICE bool follow_stamps(const FoldList& list, uint32_t block_index, Block& block, void** pointers) {
  for (uint32_t k = block.thread(); k < list.npointers; k += block.threads()) pointers[k] = list.pointers[k];
  block.barrier();  // before stamps overwrite some of them
  bool gives_up = false;
  for (uint32_t k = block.thread(); k < list.stamps.nstamps; k += block.threads()) {
    const StampAt at(list, k);
    if (!same_call(read(&at.stamp.signature), at.own)) {
      gives_up = true;
      if (block_index == 0) write_note(*list.stamps.note, at.stamp, at.own);
      continue;
    }
    const uint64_t data = read(&at.stamp.data);
    if (data == 0 || !at.has_pointer()) continue;
    gives_up |= load_relaxed(list.stamps.stopped) != 0;
    pointers[at.pointer] = bits_as<void*>(data);
  }
  return !block.any(gives_up);
}

/// Called first by all threads of a launch. Returns the pointers for its folds, stored at `shared` if stamps
/// may replace some; null, and nothing may be written, if a peer makes another call or the host has given up.
RONDO_DEVICE void* const* pass(const FoldList& list, uint32_t block_index, Block& block, void** shared) {
  const StampList& stamps = list.stamps;
  if (block_index == 0 && block.thread() == 0 && stamps.ticks != nullptr) add(stamps.ticks, 1);
  if (stamps.writes != 0 && block_index == 0) write_stamps(list, block);
  if (stamps.writes != 0 || stamps.nstamps == 0) return list.pointers;
  return follow_stamps(list, block_index, block, shared) ? shared : nullptr;
}

}  // namespace rondo::device
