// SPDX-License-Identifier: Apache-2.0
// Memory use of processes, as the kernel accounts for it. Any thread.
#pragma once

#include <sys/types.h>

namespace rondo::perf {

struct ProcessMemory {
  double peak_kib = 0;          // peak resident size
  double proportional_kib = 0;  // resident now, shared pages divided among the sharing processes
};

/// The memory of a process of this user; zeros if the kernel does not report it.
ProcessMemory memory_of(pid_t pid);

/// The memory of an idle process, which is what the C library alone takes.
ProcessMemory memory_of_bare_process();

}  // namespace rondo::perf
