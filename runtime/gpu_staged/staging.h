// SPDX-License-Identifier: Apache-2.0
// Staging: memory in which a rank leaves data for its peers' GPUs, all of which can access it, and the words
// by which streams wait for one another. Geometry: plain data, the same at all ranks of a communicator.
//
//     staging of a rank    | stamps of slot 0 | stamps of slot 1 | slot 0 | slot 1 |
//     words of all ranks   | RankWords of each | words that rank 0 waits for | ... rank 1 ... |
//
// Each slot has one stamp per peer. A slot holds either one block for all peers, or one block for each.
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
  /// `bytes`: of staging at each rank.
  StagingGeometry(int nranks, size_t bytes);
  static size_t min_bytes(int nranks);

  int nranks() const { return nranks_; }
  size_t bytes() const { return bytes_; }
  /// Capacity of a block.
  size_t block_bytes(bool shared) const { return shared ? slot_bytes_ : part_bytes_; }
  /// Offsets in the writer's staging.
  size_t stamp(int slot, int reader) const;
  size_t block(int slot, bool shared, int reader) const;

 private:
  int nranks_ = 0;
  size_t bytes_ = 0;
  size_t slot_bytes_ = 0;
  size_t part_bytes_ = 0;  // of a block, if the slot has one for each rank
};

/// The state of a rank's calls, shared by its GPU and all processes.
struct alignas(64) RankWords {
  uint32_t busy = 0;   // 1: its stream is within a call
  uint32_t made = 0;   // sequence number of the latest call it has reached
  uint64_t ticks = 0;  // counts the launches of its calls
  MismatchNote note;
  uint64_t stopped = 0;  // 1: kernels must no longer read peers' windows
};

/// The words that streams wait for. Each has one waiting rank and one writing rank, and is 0 between calls.
enum class Token { Ready, Done };

/// Layout of the words in the segment that all processes map.
class WordTable {
 public:
  WordTable() = default;
  /// `base`: a host or a device address.
  WordTable(std::byte* base, int nranks) : base_(base), nranks_(nranks) {}
  static size_t bytes(int nranks);

  RankWords& rank(int rank) const { return reinterpret_cast<RankWords*>(base_)[rank]; }
  /// The word that `from` writes and `to` waits for.
  uint32_t* word(Token token, int slot, int from, int to) const;
  /// Number of words that a rank waits for, which begin at first_word().
  size_t words_of_rank() const { return 2 * kSlots * static_cast<size_t>(nranks_); }
  uint32_t* first_word(int to) const { return word(Token::Ready, 0, 0, to); }

 private:
  std::byte* base_ = nullptr;
  int nranks_ = 0;
};

}  // namespace rondo
