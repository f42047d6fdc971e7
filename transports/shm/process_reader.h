// ProcessReader: reads the memory of another process of this host where it lies, by process_vm_readv()
// (Linux's cross memory attach), as far as the kernel lets this process do so. Used by one thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/fd.h"
#include "base/status.h"

namespace rondo::shm {

/// A word of a process by which another knows that what it reads is this process's memory.
struct Landmark {
  uint64_t address = 0;
  uint64_t word = 0;
};
/// This process's, and nothing where the kernel has no random bytes. After a fork the child has another word.
/// Any thread.
std::optional<Landmark> own_landmark();

class ProcessReader {
 public:
  ProcessReader() = default;  // reads nothing
  /// Of the process at the other end of a Unix socket; an error where it must not be read, or has not this
  /// landmark.
  static Result<ProcessReader> open(const Fd& socket, const Landmark& landmark);

  bool can_read() const { return process_ != 0; }
  /// Copies `bytes` at `address` of that process to `place`; false where the kernel refuses, not all of it is
  /// mapped there, or the process is not the same any more; then `place` may hold a part.
  bool read(uint64_t address, std::byte* place, size_t bytes) const;

 private:
  ProcessReader(pid_t process, const Landmark& landmark) : process_(process), landmark_(landmark) {}
  pid_t process_ = 0;
  Landmark landmark_;
};

}  // namespace rondo::shm
