// SPDX-License-Identifier: Apache-2.0
// The memory of a FIFO of slots, one direction of a connection: plain data, so that host threads, processes
// and (later) CUDA blocks share one layout.
//
//     headers    slots x SlotHeader     written by the sender
//     released   one uint64_t           written by the receiver, on a line of its own
//     memory     slots x stride_bytes   written by the sender, or absent if only addresses are sent
//     short      slots x short_bytes    instead, for messages of less than short_bytes: where `memory` is a
//                                       GPU's, which CPUs do not reach
//
// Message k (from 0) is in slot k % slots. The sender fills the slot and its header and then stores k + 1
// to `ready`; the receiver reads them and then stores k + 1 to `released`. So a slot is free for message k
// once released > k - slots, and it holds message k when ready == k + 1. For each of the two counters
// there is a flag word of its sleepers (base/park.h); only CPU threads sleep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/signature.h"

namespace rondo {

struct alignas(64) SlotHeader {
  uint64_t ready = 0;  // k + 1 once message k is complete; atomic
  uint32_t unused = 0;
  uint32_t bytes = 0;
  uint64_t note = 0;  // for the transport: address of posted bytes (local, shm), time of visibility (sim)
  Signature signature;
};
static_assert(sizeof(SlotHeader) == 64);

/// `released`, padded to two lines because processors prefetch the adjacent line.
struct alignas(128) ReleasedCounter {
  uint64_t value = 0;
  uint32_t asleep = 0;       // the sender
  uint32_t is_yielding = 0;  // 1: the receiver is yielding its CPU; a hint
  uint64_t waits_for = 0;    // k + 1: the receiver polls for all up to message k; atomic
  uint32_t cpu = 0;          // 1 + the CPU on which the receiver last waited for something; a hint; atomic

  /// For `ready`: not beside it, as the sender would wait for that line, which it has just begun to write.
  /// This one is seldom written.
  alignas(64) uint32_t receiver_asleep = 0;
};
static_assert(sizeof(ReleasedCounter) == 128);

/// The addresses of the parts in the user's own address space. The sizes are the same at both ends.
struct FifoLayout {
  SlotHeader* headers = nullptr;
  ReleasedCounter* released = nullptr;
  std::byte* memory = nullptr;  // null: each message's bytes are at the address in its header's `note`
  uint64_t stride_bytes = 0;    // from slot to slot, at least slot_bytes
  uint64_t slot_bytes = 0;      // the longest message
  uint64_t slots = 0;
  std::byte* short_memory = nullptr;
  uint64_t short_bytes = 0;  // 0: all messages lie in `memory`

  /// Where a message of this length lies; `index`: of its slot.
  constexpr std::byte* slot(uint64_t index, uint64_t bytes) const {
    return bytes < short_bytes ? short_memory + index * short_bytes : memory + index * stride_bytes;
  }
};
static_assert(std::is_standard_layout_v<FifoLayout> && std::is_trivially_copyable_v<FifoLayout>);
static_assert(std::is_standard_layout_v<SlotHeader> && std::is_trivially_copyable_v<SlotHeader>);

}  // namespace rondo
