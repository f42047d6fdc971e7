// SPDX-License-Identifier: Apache-2.0
#include "own_memory.h"

#include <fcntl.h>
#include <unistd.h>

namespace rondo {

OwnMemory::OwnMemory() : file_(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) {}

bool OwnMemory::copy(uint64_t address, std::span<std::byte> to) const {
  const ssize_t got = ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(address));
  return got == static_cast<ssize_t>(to.size());
}

}  // namespace rondo
