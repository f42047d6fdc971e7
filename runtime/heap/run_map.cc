// SPDX-License-Identifier: Apache-2.0
#include "run_map.h"

#include <bit>

namespace rondo::heap {
namespace {

int bin_of(uint32_t length) { return static_cast<int>(std::bit_width(length)) - 1; }

/// Granules to skip from `first` on to a multiple of `alignment`.
uint32_t skipped(uint32_t first, uint32_t alignment) { return (0 - first) & (alignment - 1); }

}  // namespace

void RunMap::begin(void* zeroed, uint32_t granules) {
  granules_ = static_cast<Granule*>(zeroed);
  dirty_ = reinterpret_cast<uint8_t*>(granules_ + granules);
  count_ = granules;
  for (uint32_t& bin : bins_) bin = 0;
  add_free(0, granules);
}

void RunMap::add_free(uint32_t first, uint32_t length) {
  uint32_t& bin = bins_[bin_of(length)];
  Granule& start = granules_[first];
  start.free = length;
  start.next = bin;
  start.previous = 0;
  granules_[first + length - 1].ends = length;
  if (bin != 0) granules_[bin - 1].previous = first + 1;
  bin = first + 1;
}

void RunMap::remove_free(uint32_t first) {
  Granule& start = granules_[first];
  if (start.previous != 0)
    granules_[start.previous - 1].next = start.next;
  else
    bins_[bin_of(start.free)] = start.next;
  if (start.next != 0) granules_[start.next - 1].previous = start.previous;
  granules_[first + start.free - 1].ends = 0;
  start.free = 0;
}

/// Latest freed first within a bin, since its pages are likely to be there.
uint32_t RunMap::find(uint32_t granules, uint32_t alignment, Fit fit) const {
  uint32_t best = kNone;
  for (int bin = bin_of(granules); bin < kBins; ++bin) {
    for (uint32_t at = bins_[bin]; at != 0; at = granules_[at - 1].next) {
      const uint32_t length = granules_[at - 1].free;
      if (uint64_t{skipped(at - 1, alignment)} + granules > length) continue;
      if (fit == Fit::Close) return at - 1;
      if (best == kNone || length > granules_[best].free) best = at - 1;
    }
  }
  return best;
}

uint32_t RunMap::take(uint32_t granules, uint32_t alignment, Fit fit) {
  const uint32_t run = find(granules, alignment, fit);
  if (run == kNone) return kNone;
  const uint32_t before = skipped(run, alignment);
  const uint32_t after = granules_[run].free - before - granules;
  const uint32_t first = run + before;
  remove_free(run);
  if (before != 0) add_free(run, before);
  if (after != 0) add_free(first + granules, after);
  granules_[first].taken = granules;
  return first;
}

void RunMap::give_back(uint32_t first) {
  uint32_t length = granules_[first].taken;
  granules_[first].taken = 0;
  if (const uint32_t next = first + length; next < count_ && granules_[next].free != 0) {
    length += granules_[next].free;
    remove_free(next);
  }
  if (const uint32_t before = first == 0 ? 0 : granules_[first - 1].ends; before != 0) {
    first -= before;
    length += before;
    remove_free(first);
  }
  add_free(first, length);
}

bool RunMap::grow(uint32_t first, uint32_t granules) {
  const uint32_t length = granules_[first].taken;
  const uint32_t next = first + length;
  const uint32_t free = next < count_ ? granules_[next].free : 0;
  if (length + uint64_t{free} < granules) return false;
  remove_free(next);
  if (const uint32_t left = length + free - granules; left != 0) add_free(first + granules, left);
  granules_[first].taken = granules;
  return true;
}

uint32_t RunMap::split(uint32_t first, uint32_t granules) {
  granules_[first + granules].taken = granules_[first].taken - granules;
  granules_[first].taken = granules;
  return first + granules;
}

}  // namespace rondo::heap
