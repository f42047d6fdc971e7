// SPDX-License-Identifier: Apache-2.0
// ProcessReader: reads another process's memory by process_vm_readv() (Linux's cross memory attach), if the
// kernel permits it. Same host only; used by one thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/fd.h"
#include "base/status.h"

namespace rondo::shm {

/// A random word in a process's memory that proves to a reader that it reads the intended process.
struct PidCookie {
  uint64_t address = 0;
  uint64_t word = 0;
};
/// This process's cookie; nothing if the kernel has no random bytes. A forked child gets a different word.
/// Callable from any thread.
std::optional<PidCookie> own_cookie();

/// The time of a copy of 64 KiB from a core's cache to the same, per byte. Measured once, in 0.1 ms. Callable
/// from any thread.
double copy_ns_per_byte();

/// Whether reading another process takes less than two copies through a slot, as far as copies within this
/// process tell: a guess until messages have been timed. Measured once, in 0.1 ms. Callable from any thread.
bool is_reading_quick();

/// Lets the descendants of this process's parent read it, where Yama restricts that to its ancestors: ranks
/// on a host have one launcher. Callable from any thread.
void admit_siblings();

class ProcessReader {
 public:
  ProcessReader() = default;  // reads nothing
  /// Reads the process at the other end of a Unix socket; an error if the kernel forbids it or the cookie
  /// does not match.
  static Result<ProcessReader> open(const Fd& socket, const PidCookie& cookie);

  bool can_read() const { return process_ != 0; }
  /// Copies `bytes` from `address` in that process to `place`. False if the kernel refuses, part of the range
  /// is not mapped, or the process is no longer the same; `place` may then hold partial data.
  bool read(uint64_t address, std::byte* place, size_t bytes) const;

 private:
  ProcessReader(pid_t process, const PidCookie& cookie) : process_(process), cookie_(cookie) {}
  pid_t process_ = 0;
  PidCookie cookie_;
};

}  // namespace rondo::shm
