// What processes hold in memory, as the kernel accounts it. Any thread.
#pragma once

#include <sys/types.h>

namespace rondo::perf {

struct ProcessMemory {
  double peak_kib = 0;          // most that was ever resident
  double proportional_kib = 0;  // resident now, shared pages divided among those who share them
};

/// Of a process of this user; zeros where the kernel does not say.
ProcessMemory memory_of(pid_t pid);

/// Of a process that does nothing: what the C library alone takes.
ProcessMemory memory_of_bare_process();

}  // namespace rondo::perf
