// SPDX-License-Identifier: Apache-2.0
// The data of a symbolic run of an MSCCL program: what is in the memory of a GPU, and on its way between
// GPUs. Chunks that follow one another are kept as one, since files may have a million. Plain data; one
// thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "msccl_run.h"

namespace rondo {

/// The same place, or that of a later chunk.
inline Ref place_after(Ref place, int chunks) {
  return place.buffer == Buffer::None ? place : Ref{place.buffer, place.chunk + chunks};
}
inline bool is_same_place(Ref a, Ref b) { return a.buffer == b.buffer && a.chunk == b.chunk; }

using SummedRanks = std::shared_ptr<const std::vector<bool>>;

/// A chunk of data: whose it is the sum of, and how long it is, as which chunk of the longer buffer.
struct Content {
  SummedRanks ranks;
  int length = 0;
  bool finished = false;

  Content after(int chunks) const { return {ranks, length + chunks, finished}; }
  bool operator==(const Content&) const = default;
};

/// A chunk of memory, or `count` of them that follow one another in all that is known of them.
struct MscclMemory {
  std::optional<Content> content;
  Ref place;  // where a Schedule has it
  int count = 1;
};

/// A GPU's memory, as the file names it.
class MscclCells {
 public:
  // kSpare: by block, for sums of two places out of Scratch.
  enum MemorySpace { kMain, kOutputs, kScratch, kSpare };
  using Key = std::pair<MemorySpace, int>;

  /// What was stored there last, if anything.
  std::optional<MscclMemory> find(Key at) const;
  void store(Key at, const MscclMemory& chunk);

 private:
  using Runs = std::map<Key, MscclMemory>;  // by the first chunk

  static bool covers(const Runs::value_type& run, Key at);
  Runs::iterator before(Runs::iterator next) { return next == runs_.begin() ? runs_.end() : std::prev(next); }

  Runs runs_;
};

/// The chunks on their way from one GPU to another, in order.
class MscclFifo {
 public:
  size_t chunks() const { return chunks_; }
  void push(const Content& content, const MscclPart& sent);
  /// The first one; there is one.
  std::pair<Content, MscclPart> pop();

 private:
  /// Each longer by one than the one before it.
  struct MscclMessages {
    Content content;
    MscclPart sent;
    int count = 1;
  };
  std::deque<MscclMessages> messages_;
  size_t chunks_ = 0;
};

}  // namespace rondo
