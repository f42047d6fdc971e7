// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <sys/resource.h>
#include <unistd.h>

namespace rondo {

void Fd::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool may_keep(const Fd& fd) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  // The kernel hands out the lowest free number, so that indicates how many are in use.
  return static_cast<rlim_t>(fd.get()) < limit.rlim_cur / 2;
}

}  // namespace rondo
