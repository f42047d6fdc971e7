// SPDX-License-Identifier: Apache-2.0
#include "witness.h"

#include <fcntl.h>
#include <sys/mman.h>

namespace rondo::heap {
namespace {

constexpr size_t kPageBytes = 4096;

bool can_be_sealed(const OwnFile& file) {
  const int fd = file.descriptor();
  return fd >= 0 && ::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0;
}

}  // namespace

void Witnesses::before_fork() {
  if (page_ != nullptr || is_blind_) return;
  is_blind_ = true;
  if (!mapped_.make(kPageBytes, 0)) return;
  void* const page = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, mapped_.descriptor(), 0);
  if (page == MAP_FAILED) return mapped_.close();
  page_ = page;
  is_blind_ = false;
}

/// The page stays mapped, for this process's parent.
void Witnesses::after_fork_in_child() {
  mapped_.close();
  for (OwnFile& file : waiting_) file.close();
  page_ = nullptr;
  is_blind_ = false;
}

/// False if there are too many to set one more aside.
bool Witnesses::set_aside() {
  for (OwnFile& file : waiting_) {
    if (file.is_made()) continue;
    ::munmap(page_, kPageBytes);
    page_ = nullptr;
    file = mapped_;
    mapped_ = OwnFile();
    return true;
  }
  return false;
}

bool Witnesses::any_left() {
  bool any = is_blind_ || (page_ != nullptr && !set_aside());
  for (OwnFile& file : waiting_) {
    if (!file.is_made()) continue;
    if (can_be_sealed(file))
      file.close();
    else
      any = true;
  }
  return any;
}

}  // namespace rondo::heap
