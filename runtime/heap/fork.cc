// SPDX-License-Identifier: Apache-2.0
// What fork() does to the heap. The memory of a process that forks has to be the child's too, and apart from
// the parent's from then on. So before the fork all blocks cease to be lent: the file that they are in is
// mapped privately, and the kernel does the rest as for any memory. A block that is allocated later is in a
// new file.
#include <pthread.h>

#include "state.h"

namespace rondo::heap {
namespace {

/// Runs last before a fork, and first after it, since it was registered before those of most libraries.
void before_fork() {
  ::pthread_mutex_lock(&state.mutex);
  state.forking.store(pthread_self());
  state.is_forking.store(true);
  bool any = false;
  for_each_arena([&](Arena& arena) {
    if (!arena.is_lent() || arena.blocks == 0) return;
    any = true;
    end_lending(arena);
  });
  if (any) ++state.counts.forks;
  if (state.own_private != 0) state.children.before_fork(any);
}

void end_fork() {
  state.is_forking.store(false);
  ::pthread_mutex_unlock(&state.mutex);
}

/// The parent's files are none of this process's concern. What is still lent has no blocks.
void after_fork_in_child() {
  for_each_arena([](Arena& arena) {
    if (arena.is_lent()) return drop_arena(arena);
    arena.file.close();
    arena.is_inherited = true;
  });
  state.children.after_fork_in_child();
  state.own_private = 0;
  state.counts.kept_bytes = 0;
  end_fork();
}

}  // namespace

/// As the library is loaded, since a handler of another library may allocate the first large block.
__attribute__((constructor)) bool watch_forks() {
  static constinit std::atomic<bool> is_due{true};
  static constinit bool is_watching = false;
  if (is_due.exchange(false)) is_watching = ::pthread_atfork(before_fork, end_fork, after_fork_in_child) == 0;
  return is_watching;
}

}  // namespace rondo::heap
