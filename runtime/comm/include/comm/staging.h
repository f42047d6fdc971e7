// Staging: where a rank leaves data for its peers' GPUs, in memory that all of them reach, and the words by
// which their streams wait for one another. Geometry: plain data, the same at all ranks of a communicator.
//
//     staging of a rank    | stamps of slot 0 | stamps of slot 1 | slot 0 | slot 1 |
//     words of all ranks   | RankWords of each | words that rank 0 waits for | ... rank 1 ... |
//
// A stamp for each peer is in each slot's stamps. A slot holds one block for all peers, or one for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/stamp.h"

namespace rondo {

inline constexpr int kSlots = 2;  // one is filled while peers read the other

class StagingGeometry {
 public:
  StagingGeometry() = default;
  /// Of `bytes` at each rank.
  StagingGeometry(int nranks, size_t bytes);
  static size_t least_bytes(int nranks);

  int nranks() const { return nranks_; }
  size_t bytes() const { return bytes_; }
  /// What a block holds.
  size_t block_bytes(bool shared) const { return shared ? slot_bytes_ : part_bytes_; }
  /// Offsets within the staging of the rank that writes.
  size_t stamp(int slot, int reader) const;
  size_t block(int slot, bool shared, int reader) const;

 private:
  int nranks_ = 0;
  size_t bytes_ = 0;
  size_t slot_bytes_ = 0;
  size_t part_bytes_ = 0;  // of a slot that has a block for each rank
};

/// What a rank's GPU and all hosts know about its calls.
struct alignas(64) RankWords {
  uint32_t busy = 0;   // 1: its stream is within a call
  uint32_t made = 0;   // the number of the latest call that it has come to
  uint64_t ticks = 0;  // launches of its calls
  MismatchNote note;
  uint64_t stopped = 0;  // 1: kernels must not read a peer's own memory any more
};

/// The words by which streams wait: each is one rank's, for one other to write, 0 between calls.
enum class Token { Ready, Done };

/// Where things are in the segment that all hosts map.
class WordTable {
 public:
  WordTable() = default;
  /// `base`: as the host sees it, or as devices do.
  WordTable(std::byte* base, int nranks) : base_(base), nranks_(nranks) {}
  static size_t bytes(int nranks);

  RankWords& rank(int rank) const { return reinterpret_cast<RankWords*>(base_)[rank]; }
  /// Written by `from`, waited for by `to`.
  uint32_t* word(Token token, int slot, int from, int to) const;
  /// All that a rank waits for.
  size_t words_of_rank() const { return 2 * kSlots * static_cast<size_t>(nranks_); }
  uint32_t* first_word(int to) const { return word(Token::Ready, 0, 0, to); }

 private:
  std::byte* base_ = nullptr;
  int nranks_ = 0;
};

}  // namespace rondo
