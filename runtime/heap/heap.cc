// SPDX-License-Identifier: Apache-2.0
#include "heap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "start.h"
#include "state.h"
#include "words.h"

namespace rondo::heap {

constinit HeapState state;

namespace {

constexpr size_t kPageBytes = 4096;
/// Like glibc, which keeps up to twice the longest such block at the end of its memory, and what is free in
/// between.
constexpr size_t kMaxKeptBlock = size_t{32} << 20;
constexpr size_t kMaxKept = 2 * kMaxKeptBlock;
constexpr size_t kKeptOfLongest = 4;
/// Arenas that are not lent whose files can still be emptied: descriptors are the program's to use up.
constexpr uint32_t kMaxFiles = 64;

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

uint32_t granules_for(size_t bytes) {
  return static_cast<uint32_t>(rounded_up(bytes, kGranuleBytes) / kGranuleBytes);
}

/// The first of `count` unused slots of the region; kMaxArenas: there are none.
uint32_t unused_slots(uint32_t count) {
  uint32_t first = 0;
  while (first + count <= kMaxArenas) {
    uint32_t slot = first;
    while (slot < first + count && state.arenas[state.arena_of[slot]].bytes == 0) ++slot;
    if (slot == first + count) return first;
    const Arena& taken = state.arenas[state.arena_of[slot]];
    first = state.arena_of[slot] + static_cast<uint32_t>(taken.bytes / kArenaBytes);
  }
  return kMaxArenas;
}

/// Null if the kernel or the region has no more.
Arena* make_arena(size_t bytes, bool is_huge) {
  const auto slots = static_cast<uint32_t>(rounded_up(bytes, kArenaBytes) / kArenaBytes);
  const uint32_t first = unused_slots(slots);
  if (first == kMaxArenas) return nullptr;
  Arena& arena = state.arenas[first];
  std::byte* const place = state.region.load() + first * kArenaBytes;
  if (!arena.make(place, slots * kArenaBytes, state.numbers + 1)) return nullptr;
  ++state.numbers;
  arena.is_huge = is_huge;
  arena.is_inherited = false;
  arena.freed_after = 0;
  for (uint32_t slot = first; slot < first + slots; ++slot)
    state.arena_of[slot] = static_cast<uint16_t>(first);
  state.used = std::max(state.used, first + slots);
  return &arena;
}

struct BlockPlace {
  Arena* arena = nullptr;
  uint32_t first = RunMap::kNone;
};

BlockPlace take(uint32_t granules, uint32_t alignment, Outlook outlook) {
  const bool is_huge = granules * kGranuleBytes > kArenaBytes;
  const auto fit = outlook == Outlook::MayGrow ? RunMap::Fit::Roomy : RunMap::Fit::Close;
  BlockPlace found;
  if (!is_huge)
    for_each_arena([&](Arena& arena) {
      if (found.first != RunMap::kNone || !arena.is_lent() || arena.is_huge) return;
      found = {&arena, arena.map.take(granules, alignment, fit)};
    });
  if (found.first != RunMap::kNone) return found;
  Arena* const made = make_arena(granules * kGranuleBytes, is_huge);
  if (made == nullptr) return {};
  return {made, made->map.take(granules, alignment, fit)};
}

size_t dirty_bytes(Arena& arena, uint32_t first, uint32_t granules) {
  size_t dirty = 0;
  for (uint32_t i = first; i < first + granules; ++i) dirty += arena.map.dirty()[i];
  return dirty * kGranuleBytes;
}

void set_dirty(Arena& arena, uint32_t first, uint32_t granules, bool dirty) {
  std::memset(arena.map.dirty() + first, dirty ? 1 : 0, granules);
}

void zero(Arena& arena, uint32_t first, uint32_t granules) {
  for (uint32_t i = first; i < first + granules; ++i)
    if (arena.map.dirty()[i] != 0) std::memset(arena.at(i), 0, kGranuleBytes);
}

uint32_t pages_for(size_t bytes) { return static_cast<uint32_t>(rounded_up(bytes, kPageBytes) / kPageBytes); }

void count_bytes(size_t granules) {
  state.counts.now_bytes += granules * kGranuleBytes;
  state.counts.max_bytes = std::max(state.counts.max_bytes, state.counts.now_bytes);
}

/// The place of a block, or the end of the program: without the lock, as a handler of SIGABRT may allocate or
/// fork.
BlockPlace place_of(const void* block) {
  Arena& arena = state.arena_at(block);
  const bool is_in_arena = arena.bytes != 0;
  const uint32_t first = is_in_arena ? arena.granule_of(block) : 0;
  if (is_in_arena && arena.at(first) == block && arena.map.length(first) != 0) return {&arena, first};
  ::pthread_mutex_unlock(&state.mutex);
  die("free() or realloc() of what is no block of malloc()");
}

/// Whether freed granules of a lent arena keep their pages.
bool may_keep(size_t bytes) {
  if (bytes > kMaxKeptBlock) return false;
  state.largest_kept = std::max(state.largest_kept, bytes);
  return state.counts.kept_bytes + bytes <= std::min(kKeptOfLongest * state.largest_kept, kMaxKept);
}

/// What no block uses any more becomes free: a block that starts here.
void give_back(Arena& arena, uint32_t first, bool dirty) {
  const uint32_t granules = arena.map.length(first);
  set_dirty(arena, first, granules, dirty);
  if (dirty && arena.is_lent()) state.counts.kept_bytes += granules * kGranuleBytes;
  arena.map.give_back(first);
  arena.freed_after = state.children.latest();
}

/// Beyond the block's first pages nothing of it remains.
void shorten(Arena& arena, uint32_t first, uint32_t pages) {
  const uint32_t needed = granules_for(pages * kPageBytes);
  arena.map.pages(first) = pages;
  if (needed == arena.map.length(first)) return;
  const uint32_t rest = arena.map.split(first, needed);
  const uint32_t granules = arena.map.length(rest);
  state.counts.now_bytes -= granules * kGranuleBytes;
  const bool keeps = arena.is_lent() && may_keep(granules * kGranuleBytes);
  give_back(arena, rest, keeps || !arena.empty(rest, granules));
}

/// Whether the file of an arena that is not lent serves this process alone.
bool is_alone(const Arena& arena) {
  return !arena.is_inherited && !state.children.any_left(arena.shared_from, state.children.latest());
}

int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * int64_t{1000} + now.tv_nsec / 1'000'000;
}

/// After a fork each page of a block is there twice once it has been written to, and a freed one is still in
/// the file. When no child is left that needs them, they go.
void tidy_arena(const Arena& arena) {
  if (arena.is_lent() || arena.is_inherited) return;
  if (!state.children.any_left(arena.shared_from, arena.freed_after)) arena.tidy_file(is_alone(arena));
}

/// Now and then, at some call of malloc() or free().
void tidy() {
  constexpr int64_t kFirstPauseMs = 50, kMaxPauseMs = 10'000;
  if (state.own_private == 0 || state.is_forking_here()) return;
  const int64_t now = now_ms();
  if (state.tidy_pause_ms != 0 && now < state.tidy_at_ms) return;
  if (state.tidy_pause_ms != 0) for_each_arena(tidy_arena);
  state.tidy_pause_ms = std::clamp(2 * state.tidy_pause_ms, kFirstPauseMs, kMaxPauseMs);
  state.tidy_at_ms = now + state.tidy_pause_ms;
}

BlockPlace take_block(size_t bytes, size_t alignment, Outlook outlook) {
  const HeapLock lock;
  tidy();
  const uint32_t granules = granules_for(bytes);
  const auto unit = static_cast<uint32_t>(std::max(alignment, kGranuleBytes) / kGranuleBytes);
  const BlockPlace place = take(granules, unit, outlook);
  if (place.first == RunMap::kNone) return place;
  ++place.arena->blocks;
  place.arena->dump_to(place.first + granules);
  place.arena->map.pages(place.first) = pages_for(bytes);
  state.counts.kept_bytes -= dirty_bytes(*place.arena, place.first, granules);
  ++state.counts.blocks;
  count_bytes(granules);
  return place;
}

struct Judged {
  BlockPlace place;
  bool keeps = false;     // its pages, once it is freed
  bool is_alone = false;  // no other process needs what the file has of it, and the file is this process's
};

Judged look_at(const void* block) {
  const HeapLock lock;
  const BlockPlace place = place_of(block);
  const size_t bytes = place.arena->map.length(place.first) * kGranuleBytes;
  const bool is_lent = place.arena->is_lent();
  return {place, is_lent && may_keep(bytes), !is_lent && is_alone(*place.arena)};
}

void end_block(const BlockPlace& place, bool dirty) {
  const HeapLock lock;
  tidy();
  Arena& arena = *place.arena;
  state.counts.now_bytes -= arena.map.length(place.first) * kGranuleBytes;
  give_back(arena, place.first, dirty);
  if (--arena.blocks == 0 && (arena.is_huge || !arena.is_lent())) drop_arena(arena);
}

}  // namespace

void end_lending(Arena& arena) {
  empty_kept(arena);
  arena.shared_from = state.children.latest() + 1;
  arena.keep_private();
  std::atomic_ref(state.ended).fetch_add(1);
  if (++state.own_private > kMaxFiles) arena.file.close();
  state.tidy_pause_ms = 0;
}

void drop_arena(Arena& arena) {
  const auto first = static_cast<uint32_t>(&arena - state.arenas);
  const auto slots = static_cast<uint32_t>(arena.bytes / kArenaBytes);
  if (arena.is_lent()) std::atomic_ref(state.ended).fetch_add(1);
  if (!arena.is_lent() && !arena.is_inherited) {
    --state.own_private;
    if (is_alone(arena)) arena.empty_file(0, arena.map.granules());  // peers may still have it mapped
  }
  arena.drop();
  for (uint32_t slot = first; slot < first + slots; ++slot)
    state.arena_of[slot] = static_cast<uint16_t>(slot);
}

bool is_of_heap(const void* pointer) {
  const std::byte* const region = state.region.load(std::memory_order_relaxed);
  return region != nullptr &&
         static_cast<size_t>(static_cast<const std::byte*>(pointer) - region) < kRegionBytes;
}

void* allocate(size_t bytes, size_t alignment, Contents contents, Outlook outlook) {
  if (!is_on() || bytes < smallest_block() || bytes > state.max_block || alignment > kArenaBytes)
    return nullptr;
  if (state.is_forking_here()) return nullptr;  // the child would share it
  const int error = errno;
  const BlockPlace place = take_block(bytes, alignment, outlook);
  errno = error;
  if (place.first == RunMap::kNone) return nullptr;
  if (contents == Contents::Zeros) zero(*place.arena, place.first, granules_for(bytes));
  return place.arena->at(place.first);
}

void release(void* block) {
  const int error = errno;
  const auto [place, keeps, is_alone] = look_at(block);
  const uint32_t granules = place.arena->map.length(place.first);
  // Takes long: until it is given back, the block is still this thread's.
  const bool dirty = keeps || !place.arena->empty(place.first, granules);
  if (is_alone) place.arena->empty_file(place.first, granules);
  end_block(place, dirty);
  errno = error;
}

size_t usable_bytes(void* block) {
  const HeapLock lock;
  const BlockPlace place = place_of(block);
  return place.arena->map.pages(place.first) * kPageBytes;
}

void move_out(void* block, void* to, size_t bytes) {
  const Arena& arena = state.arena_at(block);
  const auto* from = static_cast<const std::byte*>(block);
  auto* there = static_cast<std::byte*>(to);
  for (; bytes > kMaxKeptBlock; bytes -= kMaxKeptBlock, from += kMaxKeptBlock, there += kMaxKeptBlock) {
    std::memcpy(there, from, kMaxKeptBlock);
    arena.empty(arena.granule_of(from), granules_for(kMaxKeptBlock));
  }
  std::memcpy(there, from, bytes);
}

bool resize(void* block, size_t bytes) {
  if (bytes > state.max_block) return false;
  const int error = errno;
  const HeapLock lock;
  const auto [arena, first] = place_of(block);
  const uint32_t had = arena->map.length(first);
  const uint32_t needs = granules_for(bytes);
  if (needs > had) {
    if (!arena->is_lent() || state.is_forking_here() || !arena->map.grow(first, needs)) return false;
    state.counts.kept_bytes -= dirty_bytes(*arena, first + had, needs - had);
    arena->map.pages(first) = pages_for(bytes);
    arena->dump_to(first + needs);
    count_bytes(needs - had);
  } else {
    shorten(*arena, first, pages_for(bytes));
  }
  errno = error;
  return true;
}

void empty_kept(Arena& arena) {
  for (uint32_t first = 0; first < arena.map.granules(); first += arena.map.run_length(first)) {
    if (arena.map.length(first) != 0) continue;
    const uint32_t granules = arena.map.run_length(first);
    const size_t kept = dirty_bytes(arena, first, granules);
    if (kept == 0 || !arena.empty(first, granules)) continue;
    set_dirty(arena, first, granules, false);
    state.counts.kept_bytes -= kept;
  }
}

bool trim() {
  if (state.region.load() == nullptr) return false;
  const HeapLock lock;
  const size_t before = state.counts.kept_bytes;
  for_each_arena([](Arena& arena) {
    if (arena.is_lent()) empty_kept(arena);
  });
  return state.counts.kept_bytes < before;
}

bool discard(void* begin, size_t bytes) {
  const HeapLock lock;
  const Arena& arena = state.arena_at(begin);
  if (arena.bytes == 0) return false;
  if (arena.is_lent()) return advise(static_cast<std::byte*>(begin), bytes, MADV_REMOVE);
  return ::mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                -1, 0) == begin;
}

void end_lending_at(const void* address) {
  const HeapLock lock;
  Arena& arena = state.arena_at(address);
  if (arena.bytes != 0 && arena.is_lent()) end_lending(arena);
}

bool find(const void* at, LentPiece* found) {
  if (!is_of_heap(at)) return false;
  Arena& arena = state.arena_at(at);
  const uint64_t number = std::atomic_ref(arena.number).load(std::memory_order_acquire);
  // The arena is the same as long as the block at this address is there.
  *found = {arena.begin, arena.bytes, number, &arena.number};
  return number != 0;
}

int open_piece(uint64_t number) {
  const HeapLock lock;
  int opened = -1;
  for_each_arena([&](const Arena& arena) {
    if (arena.number != number || arena.file.descriptor() < 0) return;
    opened = ::fcntl(arena.file.descriptor(), F_DUPFD_CLOEXEC, 0);
  });
  return opened;
}

HeapCounts counts() {
  const HeapLock lock;
  return state.counts;
}

}  // namespace rondo::heap
