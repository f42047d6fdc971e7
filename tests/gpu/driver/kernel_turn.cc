// SPDX-License-Identifier: Apache-2.0
#include "kernel_turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace rondo::standin {

KernelTurn::KernelTurn(bool alone, const std::string& path) : alone_(alone) {
  if (alone && !path.empty()) file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

void KernelTurn::lock() {
  if (!alone_) return;
  mutex_.lock();
  while (file_ >= 0 && ::flock(file_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

void KernelTurn::unlock() {
  if (!alone_) return;
  if (file_ >= 0) ::flock(file_, LOCK_UN);
  mutex_.unlock();
}

void KernelTurn::leave_to_parent() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace rondo::standin
