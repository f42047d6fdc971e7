// SPDX-License-Identifier: Apache-2.0
// RunMap: which granules of an arena belong to blocks, and which are free. A block is a run of granules, and
// so is the free space between two blocks. It allocates nothing: its owner provides zeroed memory. Not
// thread-safe; the heap's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::heap {

inline constexpr size_t kGranuleBytes = size_t{64} << 10;

class RunMap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  enum class Fit {
    Close,  // in a run of about this size
    Roomy,  // where the block can grow most
  };

  /// Bytes of the map of an arena.
  static size_t bytes_for(size_t granules) { return granules * (sizeof(Granule) + 1); }
  /// All granules are free.
  void begin(void* zeroed, uint32_t granules);

  /// The first granule of a new block, a multiple of `alignment`, or kNone.
  uint32_t take(uint32_t granules, uint32_t alignment, Fit fit);
  void give_back(uint32_t first);
  /// Of the block that starts here; 0: none does.
  uint32_t length(uint32_t first) const { return granules_[first].taken; }
  /// Lengthens a block if the granules behind it are free.
  bool grow(uint32_t first, uint32_t granules);
  /// Makes the granules from `granules` on a block of their own.
  uint32_t split(uint32_t first, uint32_t granules);
  /// How many bytes the owner of a block requested, in pages.
  uint32_t& pages(uint32_t first) { return granules_[first].pages; }

  /// Whether a granule may have other contents than zeros. For a block, what was true when it was taken.
  uint8_t* dirty() { return dirty_; }
  uint32_t granules() const { return count_; }
  /// What begin() was given.
  void* notes() const { return granules_; }
  /// The first run, free or not, at or after a granule that starts a run.
  uint32_t run_length(uint32_t first) const {
    return granules_[first].taken != 0 ? granules_[first].taken : granules_[first].free;
  }

 private:
  struct Granule {
    uint32_t taken;     // length of the block that starts here
    uint32_t free;      // length of the free run that starts here
    uint32_t ends;      // length of the free run that ends here
    uint32_t next;      // free run of the same bin, plus one
    uint32_t previous;  // likewise
    uint32_t pages;
  };
  static constexpr int kBins = 32;  // by the logarithm of the length

  void add_free(uint32_t first, uint32_t length);
  void remove_free(uint32_t first);
  uint32_t find(uint32_t granules, uint32_t alignment, Fit fit) const;

  Granule* granules_ = nullptr;
  uint8_t* dirty_ = nullptr;
  uint32_t count_ = 0;
  uint32_t bins_[kBins] = {};  // first free run, plus one
};

}  // namespace rondo::heap
