// PostTable: memory that all ranks of a communicator see, in which each posts what the others read. A round
// is a call of all ranks; a rank's posts of consecutive rounds lie in different slots, and a slot is written
// again when every rank is done with the round that used it before. Plain memory: who may touch what, and
// when, is the Exchange's affair.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/signature.h"

namespace rondo {

/// Two cache lines, since processors fetch them in pairs. The first tells that a rank has come, what it
/// calls, and what it brings if that fits; up to kBriefBytes fit the second.
struct alignas(128) Post {
  static constexpr size_t kHeadBytes = 8;
  static constexpr size_t kBriefBytes = 64;
  using Words = std::array<uint64_t, sizeof(Signature) / sizeof(uint64_t)>;

  uint64_t ready = 0;    // round << 32 | a bit | how many bytes can be read; a release store, after them
  Words words;           // of the Signature
  uint64_t history = 0;  // a hash of the Signatures of all rounds before
  std::array<std::byte, kHeadBytes> head;
  std::array<std::byte, kBriefBytes> brief;

  /// For those who have seen `ready` say so, and whom the writer waits for.
  Signature signature() const { return std::bit_cast<Signature>(words); }
  /// For anybody else: nothing while it is being written. `at`: what `ready` is.
  std::optional<Signature> signature_at_rest(uint64_t* at);
  void write(const Signature& signature);
};
static_assert(sizeof(Post) == 128 && offsetof(Post, brief) == 64);

class PostTable {
 public:
  static constexpr size_t kMostBytes = size_t{256} * 1024;  // of a post
  static constexpr size_t kShortBytes = size_t{4} * 1024;   // of one that counts as short
  /// All-to-all rounds alternate between the first two slots: a rank that starts round k+2 has heard from all
  /// ranks in k+1, so all have finished reading round k. The other slots serve rounds in which a rank can run
  /// ahead; the further it can, the fewer process switches ranks that share a CPU need. Only short posts have
  /// many of them.
  static constexpr int kMutualSlots = 2;
  static constexpr int kLongSlots = 8;
  static constexpr int kShortSlots = 64;
  static constexpr int kFirstLong = kMutualSlots;
  static constexpr int kFirstShort = kFirstLong + kLongSlots;
  static constexpr int kSlots = kFirstShort + kShortSlots;

  /// Zeros at the beginning.
  static size_t bytes(int nranks) { return PostTable(nullptr, nranks).bulk_offset(nranks, kFirstShort); }
  PostTable() = default;
  PostTable(std::byte* memory, int nranks) : memory_(memory), nranks_(static_cast<size_t>(nranks)) {}

  /// How many rounds the rank has ended; a release store, after it has read what it reads.
  uint64_t& done(int rank) const { return state(rank).done; }
  /// Of those who sleep for the rank's posts, or for `done`.
  uint32_t& asleep(int rank) const { return state(rank).asleep; }
  /// The CPU on which the rank was last seen, from 1; 0 before its first call.
  uint32_t& cpu(int rank) const { return state(rank).cpu; }
  Post& post(int rank, int slot) const {
    return reinterpret_cast<Post*>(memory_ + nranks_ * sizeof(RankState))[index(rank, slot)];
  }
  /// Where the bytes of a post lie that are more than brief.
  std::byte* bulk(int rank, int slot) const { return memory_ + bulk_offset(rank, slot); }
  /// Brings pages into memory before they are used for the first time: those of all posts without their
  /// bulk, and those of the bulk of a rank's slots from `first` to before `end`. Of each slot `bytes`,
  /// without the pages of the first `touched`, which may be in use.
  void touch_posts() const;
  void touch_bulk(int rank, int first, int end, size_t touched, size_t bytes) const;

 private:
  static constexpr size_t kPageBytes = 4096;
  struct alignas(128) RankState {
    uint64_t done;
    uint32_t cpu;
    // Not beside words that change in each call: its load would wait for their line (6 of 145 ns of a call).
    alignas(64) uint32_t asleep;
  };
  RankState& state(int rank) const { return reinterpret_cast<RankState*>(memory_)[rank]; }
  size_t index(int rank, int slot) const {
    return static_cast<size_t>(slot) * nranks_ + static_cast<size_t>(rank);
  }
  size_t posts_end() const { return nranks_ * (sizeof(RankState) + kSlots * sizeof(Post)); }
  /// Short ones of a rank lie side by side: a rank's pages are fetched together.
  size_t bulk_offset(int rank, int slot) const {
    const size_t first = (posts_end() + kPageBytes - 1) / kPageBytes * kPageBytes;
    if (slot < kFirstShort) return first + index(rank, slot) * kMostBytes;
    const auto before = static_cast<size_t>(rank * kShortSlots + slot - kFirstShort);
    return first + nranks_ * kFirstShort * kMostBytes + before * kShortBytes;
  }

  std::byte* memory_ = nullptr;
  size_t nranks_ = 0;
};

}  // namespace rondo
