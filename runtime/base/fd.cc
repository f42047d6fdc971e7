// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <sys/resource.h>
#include <unistd.h>

namespace rondo {

void Fd::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

size_t max_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

bool may_keep(const Fd& fd) {
  // The kernel hands out the lowest free number, so that indicates how many are in use.
  return static_cast<size_t>(fd.get()) < max_descriptors() / 2;
}

}  // namespace rondo
