// SPDX-License-Identifier: Apache-2.0
// HeapState: all that the heap knows, in static memory. What is not atomic is guarded by its lock, which a
// thread that forks holds from before the fork to after it, in both processes.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arena.h"
#include "heap.h"
#include "witness.h"

namespace rondo::heap {

inline constexpr uint32_t kMaxArenas = 4096;
inline constexpr size_t kRegionBytes = kMaxArenas * kArenaBytes;

struct HeapState {
  enum class Readiness : int { Unknown, On, Off };

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<bool> is_forking{false};
  std::atomic<pthread_t> forking{};  // the thread that forks, if one does

  std::atomic<Readiness> readiness{Readiness::Unknown};
  std::atomic<size_t> from{0};              // smallest_block(), once known
  std::atomic<std::byte*> region{nullptr};  // address space for arenas
  size_t max_block = 0;                     // what the host's memory holds
  Arena arenas[kMaxArenas];                 // by their first kArenaBytes of the region
  uint16_t arena_of[kMaxArenas] = {};       // by any; itself where there is no arena
  uint32_t used = 0;                        // none is beyond
  uint64_t numbers = 0;
  uint64_t ended = 0;  // accessed atomically
  size_t largest_kept = 0;
  Witnesses children;
  uint32_t own_private = 0;   // arenas that are not lent, whose files are this process's
  int64_t tidy_at_ms = 0;     // when to look next whether files hold what no one needs
  int64_t tidy_pause_ms = 0;  // then
  HeapCounts counts;

  /// The arena that may contain this address of the region.
  Arena& arena_at(const void* pointer) {
    const size_t slot =
        static_cast<size_t>(static_cast<const std::byte*>(pointer) - region.load()) / kArenaBytes;
    return arenas[arena_of[slot]];
  }
  /// Whether this thread is between the handlers of its own fork, and so holds the lock.
  bool is_forking_here() const {
    return is_forking.load() && pthread_equal(forking.load(), pthread_self()) != 0;
  }
};

extern constinit HeapState state;

inline constexpr LentHeap kLentHeap{.find = find, .open = open_piece, .ended = &state.ended};

class HeapLock {
 public:
  HeapLock() : is_held_already_(state.is_forking_here()) {
    if (!is_held_already_) ::pthread_mutex_lock(&state.mutex);
  }
  ~HeapLock() {
    if (!is_held_already_) ::pthread_mutex_unlock(&state.mutex);
  }
  HeapLock(const HeapLock&) = delete;
  HeapLock& operator=(const HeapLock&) = delete;

 private:
  const bool is_held_already_;
};

/// Calls `action` with every arena.
template <class Action>
void for_each_arena(const Action& action) {
  for (uint32_t slot = 0; slot < state.used; ++slot) {
    Arena& arena = state.arenas[slot];
    if (arena.bytes != 0) action(arena);
  }
}

/// All blocks of a lent arena become this process's own. Under the lock, as what follows.
void end_lending(Arena& arena);
/// Gives an arena back that has no blocks.
void drop_arena(Arena& arena);
/// Gives back the pages that the free granules of an arena keep.
void empty_kept(Arena& arena);

/// Has fork() keep the memory of parent and child apart.
bool watch_forks();

}  // namespace rondo::heap
