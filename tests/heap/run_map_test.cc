// SPDX-License-Identifier: Apache-2.0
// Which granules belong to which block: random moves beside a plain list of granules.
#include "run_map.h"

#include <map>
#include <memory>
#include <vector>

#include "catch.h"
#include "seed.h"
#include "xorshift.h"

namespace rondo::heap {
namespace {

constexpr uint32_t kGranules = 500;

/// What the map should know, granule by granule.
class Model {
 public:
  Model() : notes_(new std::byte[RunMap::bytes_for(kGranules)]()), owner_(kGranules, 0) {
    map_.begin(notes_.get(), kGranules);
  }

  void take(uint32_t granules, uint32_t alignment, RunMap::Fit fit) {
    const uint32_t first = map_.take(granules, alignment, fit);
    const bool has_room = room(granules, alignment);
    REQUIRE((first != RunMap::kNone) == has_room);
    if (first == RunMap::kNone) return;
    REQUIRE(first % alignment == 0);
    mark(first, granules, ++blocks_);
    taken_[first] = granules;
  }
  void give_back(uint32_t which) {
    const auto block = at(which);
    map_.give_back(block->first);
    mark(block->first, block->second, 0);
    taken_.erase(block);
  }
  void resize(uint32_t which, uint32_t granules) {
    const auto block = at(which);
    const auto [first, had] = *block;
    if (granules == had) return;
    if (granules < had) {
      const uint32_t rest = map_.split(first, granules);
      REQUIRE(rest == first + granules);
      map_.give_back(rest);
      mark(rest, had - granules, 0);
      block->second = granules;
      return;
    }
    uint32_t free = 0;
    while (first + had + free < kGranules && owner_[first + had + free] == 0) ++free;
    REQUIRE(map_.grow(first, granules) == (had + free >= granules));
    if (had + free < granules) return;
    mark(first + had, granules - had, owner_[first]);
    block->second = granules;
  }
  /// Runs follow one another, and no two free ones do.
  void check() const {
    bool after_free = false;
    for (uint32_t first = 0; first < kGranules; first += map_.run_length(first)) {
      const auto block = taken_.find(first);
      REQUIRE(map_.run_length(first) != 0);
      REQUIRE(map_.length(first) == (block == taken_.end() ? 0 : block->second));
      REQUIRE_FALSE((after_free && block == taken_.end()));
      after_free = block == taken_.end();
    }
    for (uint32_t granule = 0; granule < kGranules; ++granule)
      REQUIRE((map_.length(granule) != 0) == taken_.contains(granule));
  }
  size_t blocks() const { return taken_.size(); }

 private:
  std::map<uint32_t, uint32_t>::iterator at(uint32_t which) { return std::next(taken_.begin(), which); }
  void mark(uint32_t first, uint32_t granules, int owner) {
    for (uint32_t granule = first; granule < first + granules; ++granule) {
      REQUIRE((owner_[granule] == 0 || owner == 0 || owner_[granule] == owner));
      owner_[granule] = owner;
    }
  }
  /// Only the start of a free run is aligned up, so the room is that of whole runs.
  bool room(uint32_t granules, uint32_t alignment) const {
    for (uint32_t first = 0; first + granules <= kGranules; first += alignment) {
      uint32_t free = 0;
      while (free < granules && owner_[first + free] == 0) ++free;
      if (free == granules) return true;
    }
    return false;
  }

  std::unique_ptr<std::byte[]> notes_;
  RunMap map_;
  std::map<uint32_t, uint32_t> taken_;  // length by first granule
  std::vector<int> owner_;
  int blocks_ = 0;
};

TEST_CASE("blocks never overlap, are found wherever there is room, and free runs join") {
  for (uint64_t trial = 0; trial < 20; ++trial) {
    XorShift random(test::test_seed(1), trial);
    const auto below = [&](uint64_t end) { return static_cast<uint32_t>(random.next() % end); };
    Model model;
    for (int i = 0; i < 400; ++i) {
      const uint32_t granules = 1 + below(below(8) == 0 ? 200 : 20);
      const auto which = [&] { return below(model.blocks()); };
      if (model.blocks() == 0 || below(2) == 0)
        model.take(granules, 1U << below(7), below(2) == 0 ? RunMap::Fit::Close : RunMap::Fit::Roomy);
      else if (below(2) == 0)
        model.give_back(which());
      else
        model.resize(which(), granules);
      model.check();
    }
  }
}

}  // namespace
}  // namespace rondo::heap
