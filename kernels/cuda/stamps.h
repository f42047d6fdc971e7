// Stamping and checking, by the kernels that produce and consume data which one rank leaves for another.
// Device code.
#pragma once

#include "device.h"
#include "fold_list.h"

namespace rondo::device {

/// Whether two ranks make the same call. Their numbers of it differ where a graph replays it.
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

/// All threads of a launch call it first, alike. False: a peer makes another call, and nothing may be
/// written.
RONDO_DEVICE bool pass(const StampList& list, uint32_t block_index, Block& block) {
  bool differs = false;
  for (uint32_t k = block.thread(); k < list.nstamps; k += block.threads()) {
    const StampList::Entry& entry = list.entries[k];
    Signature own = list.signature;
    own.count = entry.count;
    if (list.writes != 0) {
      if (block_index != 0) continue;
      write(&entry.stamp->signature, own);
      write(&entry.stamp->rank, list.rank);
    } else if (!same_call(read(&entry.stamp->signature), own)) {
      differs = true;
      if (block_index == 0) write_note(*list.note, *entry.stamp, own);
    }
  }
  if (block_index == 0 && block.thread() == 0 && list.ticks != nullptr) add(list.ticks, 1);
  return list.writes != 0 || !block.any(differs);
}

}  // namespace rondo::device
