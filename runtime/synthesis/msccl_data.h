// SPDX-License-Identifier: Apache-2.0
// The data of a symbolic run of an MSCCL program: what is in the memory of a GPU, and on its way between
// GPUs. Files may have a million chunks of each. Plain data; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "msccl_run.h"

namespace rondo {

/// The same place, or that of a later chunk.
inline Ref place_after(Ref place, int chunks) {
  return place.buffer == Buffer::None ? place : Ref{place.buffer, place.chunk + chunks};
}
inline bool is_same_place(Ref a, Ref b) { return a.buffer == b.buffer && a.chunk == b.chunk; }

/// A chunk of data: whose it is the sum of, and how long it is, as which chunk of the longer buffer. The
/// ranks are a sum too, of a number for each: equal sums are taken for equal ranks, which only the verifier
/// proves.
struct Content {
  uint64_t ranks : 48 = 0;
  uint64_t length : 16 = 0;

  Content after(int chunks) const {
    return {.ranks = ranks, .length = (length + static_cast<uint64_t>(chunks)) & 0xffff};
  }
  bool operator==(const Content&) const = default;
};
static_assert(sizeof(Content) == 8);

/// The number of a rank, from which few sums of others can be told: mixed bits.
constexpr uint64_t kRanksMask = (uint64_t{1} << 48) - 1;
constexpr uint64_t number_of_rank(int rank) {
  uint64_t mixed = (static_cast<uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  return (mixed ^ mixed >> 31) & kRanksMask;
}

/// A chunk of memory.
struct MscclMemory {
  Content content;
  Buffer buffer = Buffer::None;  // where a Schedule has it; None: nothing was written there
  uint16_t chunk = 0;
  uint16_t home_length =
      kNoHome;        // of the first data for which a Schedule has a chunk of Scratch for the place
  uint16_t home = 0;  // that chunk

  static constexpr uint16_t kNoHome = 0xffff;
  bool holds_data() const { return buffer != Buffer::None; }
  Ref place() const { return {buffer, chunk}; }
};
static_assert(sizeof(MscclMemory) == 16);

/// A GPU's memory, as the file names it.
class MscclCells {
 public:
  enum MemorySpace { kMain, kOutputs, kScratch };
  using Key = std::pair<MemorySpace, int>;

  /// What was stored there last, or null.
  const MscclMemory* find(Key at) const {
    const auto& cells = cells_[at.first];
    const auto chunk = static_cast<size_t>(at.second);
    return chunk < cells.size() && cells[chunk].holds_data() ? &cells[chunk] : nullptr;
  }
  /// The place, where there may be nothing yet.
  MscclMemory& at(Key at);
  /// What memory grows with.
  size_t size() const { return cells_[kMain].size() + cells_[kOutputs].size() + cells_[kScratch].size(); }

 private:
  std::vector<MscclMemory> cells_[3];  // by MemorySpace
};

/// The chunks on their way from one GPU to another, in order: some of MscclMessages.
struct MscclFifo {
  int first = -1;
  int last = -1;
  int chunks = 0;
  int waiter = -1;  // the first block that waits for more; the others follow in a list of their own
};

/// The messages of all MscclFifos, of which few are under way at a time. Chunks that follow one another are
/// kept as one.
class MscclMessages {
 public:
  void push(MscclFifo& fifo, const Content& content, const MscclPart& sent);
  /// The first one; there is one. The GPU that sent it is the caller's to know.
  std::pair<Content, MscclPart> pop(MscclFifo& fifo);

 private:
  struct MscclMessage {
    Content content;
    int move = 0;
    int next = -1;
    uint16_t first = 0;  // of the move's chunks
    uint16_t count = 0;
  };
  std::deque<MscclMessage> messages_;
  int free_ = -1;  // a list
};

}  // namespace rondo
