// SPDX-License-Identifier: Apache-2.0
// The threads of this process that are not the library's own, as /proc shows them. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// The main thread first.
std::vector<pid_t> program_threads();
std::string thread_name(pid_t thread);

/// What a thread that does not run does in the kernel.
struct KernelWait {
  int64_t call = -1;  // the number of its system call; -1: none, as in a page fault
  uint64_t stack = 0;
  uint64_t next = 0;  // the address of the next instruction
  bool operator==(const KernelWait&) const = default;
};
struct ThreadActivity {
  bool runs = false;               // certainly
  std::optional<KernelWait> wait;  // neither: the kernel does not say
};
ThreadActivity thread_activity(pid_t thread);
/// How often it has given up its CPU to wait; empty if the kernel does not say.
std::string times_waited(pid_t thread);

/// Whether it lets the signal in.
bool takes_signal(pid_t thread, int signal);

}  // namespace rondo
