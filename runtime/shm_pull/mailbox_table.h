// SPDX-License-Identifier: Apache-2.0
// MailboxTable: memory shared by all ranks of a communicator, in which each posts what the others read. A
// round is a call of all ranks; a rank's posts of consecutive rounds are in different slots, and a slot is
// reused once every rank is done with the round that used it before. Plain memory: ShmPull decides who may
// access what, and when.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/signature.h"
#include "shm_pull/shm_executor.h"

namespace rondo {

/// Two cache lines, since processors fetch them in pairs. The first says that a rank has posted, which call
/// it makes, and holds up to kHeadBytes of data; the second holds up to kBriefBytes.
struct alignas(128) Mailbox {
  static constexpr size_t kHeadBytes = 8;
  static constexpr size_t kBriefBytes = 64;
  using Words = std::array<uint64_t, sizeof(Signature) / sizeof(uint64_t)>;

  uint64_t ready = 0;    // round << 32 | a bit | readable bytes; a release store, after those bytes
  Words words;           // of the Signature
  uint64_t history = 0;  // a hash of the Signatures of all previous rounds
  std::array<std::byte, kHeadBytes> head;
  std::array<std::byte, kBriefBytes> brief;

  /// For readers that have seen this round in `ready`, and that the writer waits for before it reuses the
  /// slot.
  Signature signature() const { return std::bit_cast<Signature>(words); }
  /// For other readers: nullopt while it is being written. `at` receives `ready`.
  std::optional<Signature> signature_at_rest(uint64_t* at);
  /// A reader that sees one word of the new Signature also sees that `ready` has changed: words are stored
  /// with release after `ready`, and signature_at_rest() loads them with acquire before `ready` again.
  void write(const Signature& signature) {
    std::atomic_ref(ready).store(0, std::memory_order_relaxed);
    const auto from = std::bit_cast<Words>(signature);
    for (size_t i = 0; i < from.size(); ++i)
      std::atomic_ref(words[i]).store(from[i], std::memory_order_release);
  }
};
static_assert(sizeof(Mailbox) == 128 && offsetof(Mailbox, brief) == 64);

class MailboxTable {
 public:
  static constexpr size_t kMaxBytes = ShmExecutor::kMaxBytes;  // of a post
  static constexpr size_t kShortBytes = size_t{4} * 1024;      // max of a short post
  /// All-to-all rounds alternate between the first two slots: a rank that starts round k+2 has heard from all
  /// ranks in k+1, so all have finished reading round k. The other slots serve rounds in which a rank can run
  /// ahead; the further it can, the fewer process switches ranks that share a CPU need. Only short posts have
  /// many slots.
  static constexpr int kMutualSlots = 2;
  static constexpr int kLongSlots = 8;
  static constexpr int kShortSlots = 64;
  static constexpr int kFirstLong = kMutualSlots;
  static constexpr int kFirstShort = kFirstLong + kLongSlots;
  static constexpr int kSlots = kFirstShort + kShortSlots;

  /// The size of the memory, which must initially be zero.
  static size_t bytes(int nranks) { return MailboxTable(nullptr, nranks).bulk_offset(nranks, kFirstShort); }
  MailboxTable() = default;
  MailboxTable(std::byte* memory, int nranks) : memory_(memory), nranks_(static_cast<size_t>(nranks)) {}

  /// The number of rounds that the rank has completed; a release store, after all its reads.
  uint64_t& done(int rank) const { return state(rank).done; }
  /// The flag word for sleepers on the rank's posts or `done`.
  uint32_t& asleep(int rank) const { return state(rank).asleep; }
  /// The CPU, from 1, on which the rank last noted that it ran; 0 before its first call.
  uint32_t& cpu(int rank) const { return state(rank).cpu; }
  Mailbox& post(int rank, int slot) const {
    return reinterpret_cast<Mailbox*>(memory_ + nranks_ * sizeof(RankState))[index(rank, slot)];
  }
  /// The data of a post that is longer than kBriefBytes.
  std::byte* bulk(int rank, int slot) const { return memory_ + bulk_offset(rank, slot); }
  /// Faults pages in before their first use: those of all posts without their bulk, and those of the bulk of
  /// a rank's slots in [first, end): in each slot the first `bytes`, except the pages of the first `touched`,
  /// which may be in use.
  void touch_posts() const;
  void touch_bulk(int rank, int first, int end, size_t touched, size_t bytes) const;

 private:
  static constexpr size_t kPageBytes = 4096;
  struct alignas(128) RankState {
    uint64_t done;
    uint32_t cpu;
    // Not in a line that changes in each call: its load would wait for that line (6 of 145 ns of a call).
    alignas(64) uint32_t asleep;
  };
  RankState& state(int rank) const { return reinterpret_cast<RankState*>(memory_)[rank]; }
  size_t index(int rank, int slot) const {
    return static_cast<size_t>(slot) * nranks_ + static_cast<size_t>(rank);
  }
  size_t posts_end() const { return nranks_ * (sizeof(RankState) + kSlots * sizeof(Mailbox)); }
  /// A rank's short posts are contiguous, so that its pages are fetched together.
  size_t bulk_offset(int rank, int slot) const {
    const size_t first = (posts_end() + kPageBytes - 1) / kPageBytes * kPageBytes;
    if (slot < kFirstShort) return first + index(rank, slot) * kMaxBytes;
    const auto before = static_cast<size_t>(rank * kShortSlots + slot - kFirstShort);
    return first + nranks_ * kFirstShort * kMaxBytes + before * kShortBytes;
  }

  std::byte* memory_ = nullptr;
  size_t nranks_ = 0;
};

}  // namespace rondo
