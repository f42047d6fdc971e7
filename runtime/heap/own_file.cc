// SPDX-License-Identifier: Apache-2.0
#include "own_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace rondo::heap {
namespace {

/// High enough to leave the numbers that a program is given next as they would be.
int moved_up(int fd) {
  rlimit limit{};
  const bool is_known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  const int from = is_known ? static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur / 2, 1, 512)) : 64;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, from);
  ::close(fd);
  return moved;
}

}  // namespace

bool OwnFile::make(size_t bytes, int seals) {
  rlimit limit{};  // beyond it, ftruncate() would end the process by a signal
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes) return false;
  int fd = ::memfd_create("rondo-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd >= 0) fd = moved_up(fd);
  struct stat made {};
  const bool is_made = fd >= 0 && ::ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
                       (seals == 0 || ::fcntl(fd, F_ADD_SEALS, seals) == 0) && ::fstat(fd, &made) == 0;
  device_ = made.st_dev;
  inode_ = made.st_ino;
  if (is_made) fd_ = fd;
  if (!is_made && fd >= 0) ::close(fd);
  return is_made;
}

int OwnFile::descriptor() const {
  struct stat now {};
  if (fd_ == 0 || ::fstat(fd_, &now) != 0) return -1;
  return now.st_dev == device_ && now.st_ino == inode_ ? fd_ : -1;
}

void OwnFile::close() {
  if (const int fd = descriptor(); fd >= 0) ::close(fd);
  fd_ = 0;
}

}  // namespace rondo::heap
